/** Layers of the embedded server's writer. Each layer wraps the next one, and the innermost wraps the store. */
import type { RequestWriter } from '../../interactions/interaction.ts'
import { NO_OP_WRITER } from '../../interactions/operations/dry-run.ts'
import type { IndexedCanonicals } from '../../interactions/validation/indexed-canonicals.ts'
import type { VisibleStoreOf } from '../../interactions/visible-store.ts'
import { integrityWriter } from '../../interactions/writing/referential-integrity.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import type { ResourceWriter } from '../../ports/store/resource-store.ts'
import type { Config } from '../config.ts'
import { backpressureWriter, type CountedVersions, type IndexCatchUp } from './backpressure-writer.ts'
import { clockCheckedWriter } from './clock-checked-writer.ts'
import type { WriteOrigins } from './write-origins.ts'

export type WriterParts = {
  readonly config: Pick<Config, 'referentialIntegrity'>
  readonly clock: { readonly mayStamp: () => boolean }
  readonly origins: WriteOrigins
  readonly resources: VisibleStoreOf
  readonly searcher: Pick<Searches, 'find'> & IndexCatchUp
  readonly canonicals: IndexedCanonicals
  readonly versions: CountedVersions
}

type WriterLayer = (writer: RequestWriter, parts: WriterParts) => RequestWriter

const clockChecked: WriterLayer = (writer, { clock }) => clockCheckedWriter(writer, clock)

const originRecording: WriterLayer = (writer, { origins }) => origins.recording(writer)

const integrity: WriterLayer = (writer, { config, resources, searcher }) =>
  config.referentialIntegrity ? integrityWriter({ resources, index: searcher, writer }) : writer

const canonicalCounting: WriterLayer = (writer, { canonicals }) => canonicals.counting(writer)

const backpressure: WriterLayer = (writer, { searcher, versions }) => backpressureWriter(writer, searcher, versions)

/** Order of the layers, outermost first. */
const WRITER_LAYERS: readonly WriterLayer[] = [
  clockChecked, // a write with a wrong timestamp is rejected before any check reads and before any wait
  originRecording, // records only versions that every inner layer let through
  integrity, // a broken reference must not reach the counting, which treats each error as a commit that may have taken effect
  canonicalCounting, // counts every commit that may reach the store
  backpressure, // a write waits for the index only once nothing else can reject it
]

/** Returns the writer of the server: all layers around `store`. */
export const layeredWriter = (store: ResourceWriter, parts: WriterParts): RequestWriter =>
  WRITER_LAYERS.reduceRight<RequestWriter>((writer, layer) => layer(writer, parts), store)

/** Returns a writer that applies the integrity check of a write and stores nothing. */
export const dryRunWriter = (parts: WriterParts): RequestWriter => integrity(NO_OP_WRITER, parts)
