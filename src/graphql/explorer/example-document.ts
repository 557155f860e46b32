/** What both explorers open with: operations that are ready to run. */
export const exampleDocument = `# Waymark. Choose an operation and run it; the key goes into the header x-api-key.

# The newest jobs that are not done yet, and whose they are.
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

# Jobs that wait for somebody, with what happened to them.
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

# How many jobs there are, by status and contractor.
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

# Changes one job: put in a markingNumber from above.
mutation Reschedule {
  updateJob(
    input: {
      markingNumber: "put one from above here"
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

# Follows changes as they happen: run this, then change a job in another tab.
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

# What happened, oldest first: "after" the cursor of the last event that came is what was missed since.
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
