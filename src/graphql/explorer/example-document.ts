/** Example operations that both explorers show first. */
export const exampleDocument = `# Waymark. Set your API key in the x-api-key header, choose an operation and run it.

# The newest open jobs with their agents and contractors.
query OpenJobs {
  jobs(first: 10, filter: { statusCategory: [OPEN, IN_PROGRESS, ATTENTION] }) {
    totalCount
    nodes {
      markingNumber
      recipientName
      scheduledDate
      status {
        label
        category
      }
      agent {
        name
      }
      contractor {
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
      markingNumber
      normalizedStatus
      failureReason
      history(first: 5) {
        nodes {
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
    type
    cursor
    job {
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
      type
      occurredAt
      cursor
      job {
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
