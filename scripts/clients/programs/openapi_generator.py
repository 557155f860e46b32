import os, time
from waymark_client import AccountApi, ApiClient, Configuration, JobLookup, JobsApi, EventsApi, ReferenceApi, JobPatch, BatchUpdate, BatchItem
from waymark_client.exceptions import ApiException
import json


def check(condition, what):
    assert condition, what
    print("ok", what)


config = Configuration(host=os.environ["BASE_URL"], api_key={"ApiKey": os.environ["API_KEY"]})
client = ApiClient(config)
jobs = JobsApi(client)
first = jobs.list_jobs(page=1, page_size=2)
check(len(first.data.items) == 2, "list by page")
after = jobs.list_jobs(cursor=first.data.pagination.next_cursor, page_size=2)
job = after.data.items[0]
check(job.id != first.data.items[0].id, "list by cursor")
check(jobs.list_jobs(normalized_status=job.normalized_status, sort="-updated_at").data.pagination.total > 0, "list with filters")
number = job.marking_number
check(jobs.get_job(number).data.id == job.id, "get")
weight = float(int(time.time()) % 1000)
patched = jobs.update_job(number, JobPatch(weight=weight, labels=None)).data
check(patched.weight == weight and patched.labels is None, "patch")
batch = jobs.update_jobs(BatchUpdate(jobs=[BatchItem(marking_number=number, weight=weight + 1), BatchItem(marking_number="no-such-job", weight=1)]))
updated, failed = batch.data.results
check(updated.job.weight == weight + 1 and failed.error_code == "NotFoundException", "batch")
check(EventsApi(client).list_events(types=["job.updated", "job.status_changed"]).data.items[0].data.job.id, "events with types")
check(jobs.list_job_history(number).data.items[0].changes["weight"].to == weight + 1, "history")
check(len(ReferenceApi(client).list_statuses().data.items) > 3, "reference")
check("jobs:read" in AccountApi(client).get_me().data.api_key.scopes, "me")
found = jobs.look_up_jobs(JobLookup(marking_numbers=[number, "no-such-job"])).data.items
check(found[0].id == job.id and found[1] is None, "look up")
for status, what, call in [(404, "404", lambda: jobs.get_job("no-such-job")), (412, "412", lambda: jobs.update_job(number, JobPatch(weight=1), if_match='"99999"'))]:
    try:
        call()
        check(False, what)
    except ApiException as error:
        check(error.status == status and json.loads(error.body)["error"]["code"], what)
