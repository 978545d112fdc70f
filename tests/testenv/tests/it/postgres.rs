//! PostgreSQL: a database a test.

use pretty_assertions::assert_eq;
use sqlx::{Connection, PgConnection};
use testenv::postgres;

#[tokio::test]
async fn each_test_has_a_database_of_its_own() {
    let server = postgres().await;
    let (first, second) = (server.database().await, server.database().await);
    assert_ne!(first, second);
    let mut connection = PgConnection::connect(&first).await.unwrap();
    sqlx::query("CREATE TABLE mine (id TEXT)").execute(&mut connection).await.unwrap();
    let mut connection = PgConnection::connect(&second).await.unwrap();
    let tables: Vec<(String,)> =
        sqlx::query_as("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    assert_eq!(tables, []);
}
