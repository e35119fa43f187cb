/** Index partitions of the resource table by type: each accepts 1,000 writes per second. */
import type { IndexShards } from '../../lambdas/runtime/index-shards.ts'

/** Types with the most resources in Synthea's populations. Each other type has one partition. */
// biome-ignore format: a list
const LARGE_TYPES = [
  'Observation', 'Claim', 'Encounter', 'ExplanationOfBenefit', 'Procedure', 'Immunization', 'DiagnosticReport', 'MedicationRequest',
  'Condition', 'CarePlan',
]
const SHARDS_OF_LARGE_TYPE = 4

/** A history of a type reads each of its partitions, 32 at the same time. */
export const MAX_SHARDS = 100

export const DEFAULT_SHARDS: IndexShards = Object.fromEntries(LARGE_TYPES.map((type) => [type, SHARDS_OF_LARGE_TYPE]))
