/** Example operations that both explorers show first. */
export const exampleDocument = `# Waymark. Set your API key in the x-api-key header, choose an operation and run it.

# Only with a test key, such as the one of the demo: creates jobs to try the other operations on.
mutation CreateTestJobs {
  createTestJobs(input: { count: 3 }) {
    jobs {
      id
      markingNumber
    }
    userErrors {
      code
      field
      message
    }
  }
}

# The newest open jobs with their agents and contractors.
query OpenJobs {
  jobs(first: 10, filter: { statusCategory: [OPEN, IN_PROGRESS, ATTENTION] }) {
    totalCount
    nodes {
      id
      markingNumber
      recipientName
      scheduledDate
      status {
        label
        category
      }
      agent {
        id
        name
      }
      contractor {
        id
        name
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}

# Jobs that need attention, with their last changes.
query JobsWithHistory {
  jobs(first: 5, filter: { statusCategory: [ATTENTION] }, orderBy: { field: UPDATED_AT, direction: DESC }) {
    nodes {
      id
      markingNumber
      normalizedStatus
      failureReason
      history(first: 5) {
        nodes {
          id
          type
          occurredAt
          changes {
            field
            from
            to
          }
        }
      }
    }
  }
}

# The number of jobs by status and contractor.
query JobsByStatus {
  jobStats(groupBy: [STATUS, CONTRACTOR]) {
    total
    groups {
      keys {
        label
      }
      count
      pieceQuantity
      weight
    }
  }
}

# Changes one job. Replace the markingNumber with one from a query above.
mutation Reschedule {
  updateJob(
    input: {
      markingNumber: "replace with a marking number"
      patch: { normalizedStatus: "scheduled", scheduledDeliveryPending: false }
    }
  ) {
    job {
      id
      markingNumber
      normalizedStatus
      version
    }
    userErrors {
      code
      field
      message
    }
  }
}

# Receives changes live. Run this, then change a job in another tab.
subscription Follow {
  jobChanged {
    id
    type
    cursor
    job {
      id
      markingNumber
      normalizedStatus
    }
    changes {
      field
      from
      to
    }
  }
}

# Events, oldest first. To get the events you missed, pass the cursor of the last event you received as "after".
query CatchUp {
  events(first: 20) {
    nodes {
      id
      type
      occurredAt
      cursor
      job {
        id
        markingNumber
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`;
