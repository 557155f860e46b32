import java.math.BigDecimal;
import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.AccountApi;
import org.openapitools.client.api.EventsApi;
import org.openapitools.client.api.JobsApi;
import org.openapitools.client.api.ReferenceApi;
import org.openapitools.client.model.BatchItem;
import org.openapitools.client.model.BatchUpdate;
import org.openapitools.client.model.JobList;
import org.openapitools.client.model.JobLookup;
import org.openapitools.client.model.JobPatch;

public class OpenapiGenerator {
  private interface Call {
    void make() throws ApiException;
  }

  private static void check(boolean condition, String what) {
    if (!condition) throw new IllegalStateException(what);
    System.out.println("ok " + what);
  }

  private static int statusOf(Call call) {
    try {
      call.make();
      return 0;
    } catch (ApiException error) {
      return error.getCode();
    }
  }

  private static JobList list(JobsApi jobs, String status, Integer page, String cursor, String sort) throws ApiException {
    return jobs.listJobs(null, null, status, null, null, null, null, page, 2, cursor, sort, null, null, null, null).getData();
  }

  public static void main(String[] args) throws ApiException {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("BASE_URL"));
    client.setRequestInterceptor(request -> request.header("x-api-key", System.getenv("API_KEY")));
    JobsApi jobs = new JobsApi(client);
    JobList first = list(jobs, null, 1, null, null);
    check(first.getItems().size() == 2, "list by page");
    JobList next = list(jobs, null, null, first.getPagination().getNextCursor(), null);
    var job = next.getItems().get(0);
    check(!job.getId().equals(first.getItems().get(0).getId()), "list by cursor");
    JobList filtered = list(jobs, job.getNormalizedStatus(), null, null, "-updated_at");
    check(filtered.getPagination().getTotal() > 0, "list with filters");
    String number = job.getMarkingNumber();
    check(jobs.getJob(number, null).getData().getId().equals(job.getId()), "get");
    BigDecimal weight = BigDecimal.valueOf(System.currentTimeMillis() % 1000);
    JobPatch patch = new JobPatch().weight(weight).labels(null);
    var patched = jobs.updateJob(number, patch, null, null, null).getData();
    check(patched.getWeight().compareTo(weight) == 0 && patched.getLabels() == null, "patch");
    BigDecimal more = weight.add(BigDecimal.ONE);
    List<BatchItem> items = List.of(
        new BatchItem().markingNumber(number).weight(more),
        new BatchItem().markingNumber("no-such-job").weight(BigDecimal.ONE));
    var results = jobs.updateJobs(new BatchUpdate().jobs(items), null, null, null).getData().getResults();
    check(results.get(0).getJob().getWeight().compareTo(more) == 0
        && "NotFoundException".equals(results.get(1).getErrorCode()), "batch");
    var events = new EventsApi(client).listEvents(null, List.of("job.updated", "job.status_changed"), null).getData();
    check(events.getItems().get(0).getData().getJob().getId() != null, "events with types");
    var history = jobs.listJobHistory(number, null, null).getData();
    Object changed = history.getItems().get(0).getChanges().get("weight").getTo();
    check(((Number) changed).longValue() == more.longValue(), "history");
    check(new ReferenceApi(client).listStatuses().getData().getItems().size() > 3, "reference");
    check(new AccountApi(client).getMe().getData().getApiKey().getScopes().contains("jobs:read"), "me");
    var found = jobs.lookUpJobs(new JobLookup().markingNumbers(List.of(number, "no-such-job"))).getData().getItems();
    check(found.get(0).getId().equals(job.getId()) && found.get(1) == null, "look up");
    check(statusOf(() -> jobs.getJob("no-such-job", null)) == 404, "404");
    check(statusOf(() -> jobs.updateJob(number, patch, null, null, "\"99999\"")) == 412, "412");
  }
}
