package main

import (
	"context"
	"fmt"
	"os"
	"time"

	waymark "example.com/generated"
)

func check(condition bool, what string) {
	if !condition {
		panic(what)
	}
	fmt.Println("ok", what)
}

func main() {
	config := waymark.NewConfiguration()
	config.Servers = waymark.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	config.AddDefaultHeader("x-api-key", os.Getenv("API_KEY"))
	client := waymark.NewAPIClient(config)
	ctx := context.Background()
	jobs := client.JobsAPI
	first, _, err := jobs.ListJobs(ctx).Page(1).PageSize(2).Execute()
	check(err == nil && len(first.Data.Items) == 2, "list by page")
	next, _, err := jobs.ListJobs(ctx).Cursor(*first.Data.Pagination.NextCursor.Get()).PageSize(2).Execute()
	check(err == nil && next.Data.Items[0].Id != first.Data.Items[0].Id, "list by cursor")
	job := next.Data.Items[0]
	number := job.MarkingNumber
	filtered, _, err := jobs.ListJobs(ctx).NormalizedStatus(job.NormalizedStatus).Sort("-updated_at").Execute()
	check(err == nil && filtered.Data.Pagination.Total > 0, "list with filters")
	one, _, err := jobs.GetJob(ctx, number).Execute()
	check(err == nil && one.Data.Id == job.Id, "get")
	weight := float32(time.Now().Unix() % 1000)
	patch := waymark.JobPatch{}
	patch.SetWeight(weight)
	patch.SetLabelsNil()
	patched, _, err := jobs.UpdateJob(ctx, number).JobPatch(patch).Execute()
	check(err == nil && *patched.Data.Weight.Get() == weight && patched.Data.Labels.Get() == nil, "patch")
	good, bad := waymark.NewBatchItem(number), waymark.NewBatchItem("no-such-job")
	good.SetWeight(weight + 1)
	bad.SetWeight(1)
	batch, _, err := jobs.UpdateJobs(ctx).BatchUpdate(*waymark.NewBatchUpdate([]waymark.BatchItem{*good, *bad})).Execute()
	check(err == nil && *batch.Data.Results[0].Job.Weight.Get() == weight+1 &&
		*batch.Data.Results[1].ErrorCode == "NotFoundException", "batch")
	events, _, err := client.EventsAPI.ListEvents(ctx).Types([]string{"job.updated", "job.status_changed"}).Execute()
	check(err == nil && events.Data.Items[0].Data.Job.Id != "", "events with types")
	history, _, err := jobs.ListJobHistory(ctx, number).Execute()
	check(err == nil && history.Data.Items[0].Changes["weight"].To != nil, "history")
	statuses, _, err := client.ReferenceAPI.ListStatuses(ctx).Execute()
	check(err == nil && len(statuses.Data.Items) > 3, "reference")
	me, _, err := client.AccountAPI.GetMe(ctx).Execute()
	check(err == nil && me.Data.ApiKey.Scopes[0] == "jobs:read", "me")
	lookup := *waymark.NewJobLookup([]string{number, "no-such-job"})
	found, _, err := jobs.LookUpJobs(ctx).JobLookup(lookup).Execute()
	check(err == nil && found.Data.Items[0].Id == job.Id && found.Data.Items[1] == nil, "look up")
	_, response, err := jobs.GetJob(ctx, "no-such-job").Execute()
	check(err != nil && response.StatusCode == 404, "404")
	_, response, err = jobs.UpdateJob(ctx, number).JobPatch(patch).IfMatch(`"99999"`).Execute()
	check(err != nil && response.StatusCode == 412, "412")
}
