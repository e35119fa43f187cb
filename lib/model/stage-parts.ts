/** Parts of a stage under a load: what each of them gets or needs. */
import type { IndexShards } from '../../lambdas/runtime/index-shards.ts'
import type { Concurrency } from './concurrency.ts'
import type { ExportLoad } from './export-load.ts'
import type { Load } from './load.ts'
import type { RebuildLoad } from './rebuild-load.ts'
import type { SearchLoad } from './search-load.ts'
import type { StoredGigabytes, TableUnits, WarmUnits } from './table-load.ts'

export type StageParts = {
  readonly load: Load
  readonly units: TableUnits
  readonly stored: StoredGigabytes
  readonly shards: IndexShards
  readonly warm: WarmUnits
  /** Shards of the stream: partitions of the resource table. */
  readonly streamShards: number
  readonly parallelizationFactor: number
  readonly search: SearchLoad
  readonly concurrency: readonly Concurrency[]
  /** Signatures of KMS per second. */
  readonly signatures: number
  readonly rebuild: RebuildLoad
  readonly exported: ExportLoad
}
