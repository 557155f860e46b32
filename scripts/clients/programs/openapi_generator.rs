use waymark_client::apis::{account_api::*, configuration::*, events_api::*, jobs_api::*, reference_api::*, Error};
use waymark_client::models::{BatchItem, BatchUpdate, JobLookup, JobPatch};

fn check(condition: bool, what: &str) {
    assert!(condition, "{what}");
    println!("ok {what}");
}

fn status<T>(error: &Error<T>) -> u16 {
    match error {
        Error::ResponseError(content) => content.status.as_u16(),
        _ => 0,
    }
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap()
}

#[tokio::main]
async fn main() {
    let mut api = Configuration::new();
    api.base_path = env("BASE_URL");
    api.api_key = Some(ApiKey { prefix: None, key: env("API_KEY") });
    let list = async |status: Option<&str>, page: Option<i32>, cursor: Option<&str>, sort: Option<&str>| {
        list_jobs(&api, None, None, status, None, None, None, None, page, Some(2), cursor, sort, None, None, None, None)
            .await
            .unwrap()
            .data
    };
    let first = list(None, Some(1), None, None).await;
    check(first.items.len() == 2, "list by page");
    let cursor = first.pagination.next_cursor.clone();
    let next = list(None, None, cursor.as_deref(), None).await;
    let job = &next.items[0];
    check(job.id != first.items[0].id, "list by cursor");
    let filtered = list(Some(&job.normalized_status), None, None, Some("-updated_at")).await;
    check(filtered.pagination.total > 0, "list with filters");
    let number = job.marking_number.as_str();
    check(get_job(&api, number, None).await.unwrap().data.id == job.id, "get");
    let seconds = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let weight = (seconds % 1000) as f64;
    let patch = JobPatch { weight: Some(Some(weight)), labels: Some(None), ..JobPatch::new() };
    let patched = update_job(&api, number, patch.clone(), None, None, None).await.unwrap().data;
    check(patched.weight == Some(weight) && patched.labels.is_none(), "patch");
    let good = BatchItem { weight: Some(Some(weight + 1.0)), ..BatchItem::new(number.into()) };
    let bad = BatchItem { weight: Some(Some(1.0)), ..BatchItem::new("no-such-job".into()) };
    let results = update_jobs(&api, BatchUpdate::new(vec![good, bad]), None, None, None).await.unwrap().data.results;
    let updated = results[0].job.as_ref().unwrap();
    let code = results[1].error_code.as_deref();
    check(updated.weight == Some(weight + 1.0) && code == Some("NotFoundException"), "batch");
    let types = vec!["job.updated".into(), "job.status_changed".into()];
    let events = list_events(&api, None, Some(types), None).await.unwrap().data;
    check(!events.items[0].data.job.id.is_empty(), "events with types");
    let history = list_job_history(&api, number, None, None).await.unwrap().data;
    let change = serde_json::to_value(&history.items[0].changes["weight"]).unwrap();
    check(change["to"] == weight + 1.0, "history");
    check(list_statuses(&api).await.unwrap().data.items.len() > 3, "reference");
    let scopes = get_me(&api).await.unwrap().data.api_key.scopes;
    check(scopes.contains(&"jobs:read".to_string()), "me");
    let lookup = JobLookup::new(vec![number.into()]);
    let found = look_up_jobs(&api, lookup).await.unwrap().data.items;
    check(found[0].id == job.id, "look up");
    let missing = get_job(&api, "no-such-job", None).await.unwrap_err();
    check(status(&missing) == 404, "404");
    let conflict = update_job(&api, number, patch, None, None, Some("\"99999\"")).await.unwrap_err();
    check(status(&conflict) == 412, "412");
}
