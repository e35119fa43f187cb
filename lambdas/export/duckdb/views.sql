-- One view for each resource type, with the columns that most questions need. Add yours: each is a path into the JSON.
-- Values are decimals with 12 places, so that sums are exact. References are ids: patient_id joins patient.id.
-- An instant that is given as a year or a month only is NULL.

CREATE OR REPLACE VIEW patient AS
SELECT
  id,
  json->>'$.name[0].family' AS family,
  json->>'$.name[0].given[0]' AS given,
  json->>'$.gender' AS gender,
  json->>'$.birthDate' AS birth_date, -- may be a year or a month only
  coalesce(json->>'$.deceasedDateTime', json->>'$.deceasedBoolean') AS deceased,
  json->>'$.address[0].postalCode' AS postal_code,
  (json->>'$.meta.lastUpdated')::TIMESTAMPTZ AS last_updated
FROM resource WHERE type = 'Patient';

CREATE OR REPLACE VIEW observation AS
SELECT
  id,
  split_part(json->>'$.subject.reference', '/', -1) AS patient_id,
  json->>'$.status' AS status,
  json->>'$.category[0].coding[0].code' AS category,
  json->>'$.code.coding[0].system' AS code_system,
  json->>'$.code.coding[0].code' AS code,
  coalesce(json->>'$.code.text', json->>'$.code.coding[0].display') AS name,
  try_cast(coalesce(json->>'$.effectiveDateTime', json->>'$.effectivePeriod.start') AS TIMESTAMPTZ) AS effective,
  try_cast(json->>'$.valueQuantity.value' AS DECIMAL(38, 12)) AS value,
  json->>'$.valueQuantity.unit' AS unit,
  coalesce(json->>'$.valueCodeableConcept.text', json->>'$.valueCodeableConcept.coding[0].display', json->>'$.valueString') AS value_text
FROM resource WHERE type = 'Observation';

-- One row for each code of a condition: a query for a code finds it whichever stands first.
CREATE OR REPLACE VIEW condition AS
SELECT
  id,
  split_part(json->>'$.subject.reference', '/', -1) AS patient_id,
  json->>'$.clinicalStatus.coding[0].code' AS clinical_status,
  coding->>'$.system' AS code_system,
  coding->>'$.code' AS code,
  coding->>'$.display' AS name,
  try_cast(json->>'$.onsetDateTime' AS TIMESTAMPTZ) AS onset
FROM resource, unnest(json->'$.code.coding[*]') AS c(coding) WHERE type = 'Condition';

CREATE OR REPLACE VIEW encounter AS
SELECT
  id,
  split_part(json->>'$.subject.reference', '/', -1) AS patient_id,
  json->>'$.status' AS status,
  json->>'$.class.code' AS class,
  json->>'$.type[0].text' AS name,
  try_cast(json->>'$.period.start' AS TIMESTAMPTZ) AS started,
  try_cast(json->>'$.period.end' AS TIMESTAMPTZ) AS ended
FROM resource WHERE type = 'Encounter';

CREATE OR REPLACE VIEW explanation_of_benefit AS
SELECT
  id,
  split_part(json->>'$.patient.reference', '/', -1) AS patient_id,
  json->>'$.type.coding[0].code' AS type,
  try_cast(json->>'$.billablePeriod.start' AS TIMESTAMPTZ) AS started,
  try_cast(json->>'$.payment.amount.value' AS DECIMAL(38, 12)) AS paid,
  json->>'$.payment.amount.currency' AS currency
FROM resource WHERE type = 'ExplanationOfBenefit';
