import os, time
from waymark_client import AuthenticatedClient
from waymark_client.api.account import get_me
from waymark_client.api.events import list_events
from waymark_client.api.jobs import get_job, list_job_history, list_jobs, look_up_jobs, update_job, update_jobs
from waymark_client.api.reference import list_statuses
from waymark_client.models import BatchItem, BatchUpdate, ErrorEnvelope, JobLookup, JobPatch, ListEventsTypesItem, ListJobsSort


def check(condition, what):
    assert condition, what
    print("ok", what)


client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"])
first = list_jobs.sync(client=client, page=1, page_size=2)
check(len(first.data.items) == 2, "list by page")
after = list_jobs.sync(client=client, cursor=first.data.pagination.next_cursor, page_size=2)
job = after.data.items[0]
check(job.id != first.data.items[0].id, "list by cursor")
filtered = list_jobs.sync(client=client, normalized_status=job.normalized_status, sort=ListJobsSort.UPDATED_AT_DESC)
check(filtered.data.pagination.total > 0, "list with filters")
number = job.marking_number
check(get_job.sync(number, client=client).data.id == job.id, "get")
weight = float(int(time.time()) % 1000)
patched = update_job.sync(number, client=client, body=JobPatch(weight=weight, labels=None)).data
check(patched.weight == weight and patched.labels is None, "patch")
body = BatchUpdate(jobs=[BatchItem(marking_number=number, weight=weight + 1), BatchItem(marking_number="no-such-job", weight=1)])
updated, failed = update_jobs.sync(client=client, body=body).data.results
check(updated.job.weight == weight + 1 and failed.error_code == "NotFoundException", "batch")
events = list_events.sync(client=client, types=[ListEventsTypesItem.JOB_UPDATED, ListEventsTypesItem.JOB_STATUS_CHANGED])
check(events.data.items[0].data.job.id, "events with types")
check(list_job_history.sync(number, client=client).data.items[0].changes["weight"].to == weight + 1, "history")
check(len(list_statuses.sync(client=client).data.items) > 3, "reference")
check("jobs:read" in get_me.sync(client=client).data.api_key.scopes, "me")
found = look_up_jobs.sync(client=client, body=JobLookup(marking_numbers=[number, "no-such-job"])).data.items
check(found[0].id == job.id and found[1] is None, "look up")
missing = get_job.sync_detailed("no-such-job", client=client)
check(missing.status_code == 404 and isinstance(missing.parsed, ErrorEnvelope), "404")
conflict = update_job.sync_detailed(number, client=client, body=JobPatch(weight=1), if_match='"99999"')
check(conflict.status_code == 412 and conflict.parsed.error.details["current_etag"], "412")
