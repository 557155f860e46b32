package main

import (
	"context"
	"fmt"
	"net/http"
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

func of[T any](value T) *T { return &value }

func main() {
	withKey := waymark.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("x-api-key", os.Getenv("API_KEY"))
		return nil
	})
	client, err := waymark.NewClientWithResponses(os.Getenv("BASE_URL"), withKey)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	first, err := client.ListJobsWithResponse(ctx, &waymark.ListJobsParams{Page: of(1), PageSize: of(2)})
	check(err == nil && len(first.JSON200.Data.Items) == 2, "list by page")
	cursor := first.JSON200.Data.Pagination.NextCursor
	next, err := client.ListJobsWithResponse(ctx, &waymark.ListJobsParams{Cursor: cursor, PageSize: of(2)})
	check(err == nil && next.JSON200.Data.Items[0].Id != first.JSON200.Data.Items[0].Id, "list by cursor")
	job := next.JSON200.Data.Items[0]
	number := job.MarkingNumber
	filtered, err := client.ListJobsWithResponse(ctx, &waymark.ListJobsParams{
		NormalizedStatus: &job.NormalizedStatus,
		Sort:             of(waymark.ListJobsParamsSort("-updated_at")),
	})
	check(err == nil && filtered.JSON200.Data.Pagination.Total > 0, "list with filters")
	one, err := client.GetJobWithResponse(ctx, number, nil)
	check(err == nil && one.JSON200.Data.Id == job.Id, "get")
	weight := float32(time.Now().Unix() % 1000)
	patched, err := client.UpdateJobWithResponse(ctx, number, nil, waymark.JobPatch{Weight: &weight})
	check(err == nil && *patched.JSON200.Data.Weight == weight, "patch")
	items := []waymark.BatchItem{
		{MarkingNumber: number, Weight: of(weight + 1)},
		{MarkingNumber: "no-such-job", Weight: of(float32(1))},
	}
	batch, err := client.UpdateJobsWithResponse(ctx, nil, waymark.BatchUpdate{Jobs: items})
	check(err == nil && *batch.JSON200.Data.Results[0].Job.Weight == weight+1 &&
		*batch.JSON200.Data.Results[1].ErrorCode == "NotFoundException", "batch")
	types := []waymark.ListEventsParamsTypes{"job.updated", "job.status_changed"}
	events, err := client.ListEventsWithResponse(ctx, &waymark.ListEventsParams{Types: &types})
	check(err == nil && events.JSON200.Data.Items[0].Data.Job.Id != "", "events with types")
	history, err := client.ListJobHistoryWithResponse(ctx, number, nil)
	check(err == nil && history.JSON200.Data.Items[0].Changes["weight"].To != nil, "history")
	statuses, err := client.ListStatusesWithResponse(ctx)
	check(err == nil && len(statuses.JSON200.Data.Items) > 3, "reference")
	me, err := client.GetMeWithResponse(ctx)
	check(err == nil && me.JSON200.Data.ApiKey.Scopes[0] == "jobs:read", "me")
	lookup := waymark.JobLookup{MarkingNumbers: []string{number, "no-such-job"}}
	found, err := client.LookUpJobsWithResponse(ctx, lookup)
	check(err == nil && found.JSON200.Data.Items[0].Id == job.Id && found.JSON200.Data.Items[1] == nil, "look up")
	missing, err := client.GetJobWithResponse(ctx, "no-such-job", nil)
	check(err == nil && missing.StatusCode() == 404, "404")
	params := &waymark.UpdateJobParams{IfMatch: of(`"99999"`)}
	conflict, err := client.UpdateJobWithResponse(ctx, number, params, waymark.JobPatch{Weight: of(float32(1))})
	check(err == nil && conflict.StatusCode() == 412 && conflict.JSON412.Error.Code == "PreconditionFailedException", "412")
}
