-- Brings fhir.duckdb up to date with the folders that `fhir export --to warehouse --since-last` wrote.
-- Safe to repeat: folders before the last one are not read again, and a line that is read again changes nothing.

CREATE TABLE IF NOT EXISTS resource (
  type VARCHAR,
  id VARCHAR,
  json JSON,
  folder VARCHAR, -- export that brought this version, such as warehouse/2026-11-27T002302.838Z
  PRIMARY KEY (type, id)
);

SET VARIABLE last_folder = (SELECT coalesce(max(folder), '') FROM resource);
SET VARIABLE files = (SELECT list(file) FROM glob('warehouse/*/*.ndjson') WHERE file > getvariable('last_folder'));

BEGIN;

-- The last line about each resource. A deletion has no json.
CREATE OR REPLACE TEMP TABLE latest AS
WITH line AS (
  SELECT json, parse_dirpath(filename) AS folder, parse_filename(filename) LIKE 'deleted%' AS is_deleted
  FROM read_ndjson_objects(getvariable('files'), filename = true)
),
change AS (
  SELECT json->>'$.resourceType' AS type, json->>'$.id' AS id, json, folder
  FROM line WHERE NOT is_deleted AND (json->>'$.resourceType') <> 'OperationOutcome'
  UNION ALL
  SELECT split_part(url, '/', 1), split_part(url, '/', 2), NULL, folder
  FROM (SELECT unnest(json->>'$.entry[*].request.url') AS url, folder FROM line WHERE is_deleted)
)
SELECT type, id, arg_max(struct_pack(json), folder).json AS json, max(folder) AS folder
FROM change GROUP BY type, id;

DELETE FROM resource USING latest
WHERE resource.type = latest.type AND resource.id = latest.id AND latest.json IS NULL;

INSERT OR REPLACE INTO resource SELECT * FROM latest WHERE json IS NOT NULL;

COMMIT;
