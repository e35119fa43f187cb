/**
 * Mean sizes of one version of a resource, by type, in the sample of Synthea (test/fixtures/sample). `json`: bytes of JSON. `table`, `index`:
 * bytes that DynamoDB charges, including its 100 bytes for each item. `units`: write units of the item. `identifiers`: distinct
 * identifiers of a resource. test/model/sample.test.ts measures them again and compares.
 */
export type VersionSizes = {
  readonly json: number
  readonly table: number
  readonly index: number
  readonly units: number
  readonly identifiers: number
}

export const SAMPLE_SIZES: Readonly<Record<string, VersionSizes>> = {
  AllergyIntolerance: { json: 718, table: 740, index: 268, units: 1, identifiers: 0 },
  CarePlan: { json: 1531, table: 1002, index: 248, units: 1, identifiers: 0 },
  CareTeam: { json: 1382, table: 928, index: 248, units: 1, identifiers: 0 },
  Claim: { json: 1348, table: 1009, index: 242, units: 1.12, identifiers: 0 },
  Condition: { json: 782, table: 752, index: 250, units: 1, identifiers: 0 },
  DiagnosticReport: { json: 1582, table: 1081, index: 264, units: 1.32, identifiers: 0 },
  Encounter: { json: 1110, table: 911, index: 250, units: 1, identifiers: 0 },
  ExplanationOfBenefit: { json: 4654, table: 1520, index: 272, units: 2, identifiers: 2 },
  ImagingStudy: { json: 1018, table: 884, index: 256, units: 1, identifiers: 1 },
  Immunization: { json: 558, table: 705, index: 256, units: 1, identifiers: 0 },
  MedicationRequest: { json: 825, table: 863, index: 266, units: 1, identifiers: 0 },
  Observation: { json: 798, table: 785, index: 254, units: 1, identifiers: 0 },
  Organization: { json: 623, table: 725, index: 256, units: 1, identifiers: 1 },
  Patient: { json: 2809, table: 1449, index: 246, units: 2, identifiers: 5 },
  Practitioner: { json: 507, table: 695, index: 256, units: 1, identifiers: 1 },
  Procedure: { json: 573, table: 698, index: 250, units: 1, identifiers: 0 },
}

/** Sizes of a type that the sample lacks: the mean of all its resources. */
export const MEAN_SIZES: VersionSizes = { json: 1278, table: 910, index: 254, units: 1.12, identifiers: 0.2 }

export const sizesOf = (type: string): VersionSizes => SAMPLE_SIZES[type] ?? MEAN_SIZES
