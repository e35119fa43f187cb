/**
 * Writes documents in bulk. A document that fails does not affect the others.
 * - If the index has the same or a newer version, the write counts as a success. Temporary failures are retried.
 * - A document that is rejected for its content is replaced by a stub.
 * - An index with an outdated mapping receives only the properties that it knows, until its rebuild replaces it.
 * - If an index also rejects the stub, the document is reported as not applied.
 * - If a shard is missing, its documents are reported as not applied, also if it belongs to a next index. The caller writes them again.
 * https://docs.opensearch.org/latest/api-reference/document-apis/bulk/
 */
import { notApplied } from '../../ports/faults.ts'
import type { IndexDocument } from '../../ports/search/search-index.ts'
import { newestVersionsOf } from '../../ports/store/newest-versions.ts'
import { BULK_TIMEOUT, type Cluster, isIndexBlocked, isTransient, OpenSearchError } from './cluster.ts'
import { bodyOf, type IndexProperties, idOf, stubOf } from './document-body.ts'
import { externalVersion } from './external-version.ts'

export type BulkOptions = {
  readonly keepsBodies: boolean
  /** Restore generation of the store (external-version.ts). */
  readonly epoch: number
  readonly refresh: 'wait' | 'none'
  /** Maximum bytes of a request. A larger document is sent in a request of its own. */
  readonly mostBytes: number
  /** Receives each document that the index rejects, with the error type of OpenSearch as reason. */
  readonly onPoison: (document: IndexDocument, reason: string) => void | Promise<void>
}

/**
 * Write of one document to one index. `ifMissing`: effect if the index is missing. `passed`: none, the document is not needed there.
 * `refused`: the document is not applied. `lost`: also, and the index is reported as lost. `isAgain`: overwrites the same version.
 */
type Write = {
  readonly document: IndexDocument
  readonly type: string
  readonly alias: string
  readonly ifMissing: 'passed' | 'refused' | 'lost'
  readonly isAgain?: boolean
  readonly isStub: boolean
  /** Properties that the index knows. Present after it rejected the document for one that it lacks. */
  readonly form?: IndexProperties
}
export type WriteTarget = Pick<Write, 'type' | 'alias' | 'ifMissing' | 'isAgain'>

export type WriteTargets = {
  readonly of: (document: IndexDocument) => readonly WriteTarget[]
  /** Called if some indices were missing, with those writes whose `ifMissing` is `lost`. */
  readonly missing: (lost: readonly WriteTarget[]) => Promise<void>
}

type Prepared = Write & { readonly lines: string }
/**
 * Writes of a request that were not applied. `again`: to be repeated at once. `later`: to be repeated after a pause. `refused`: finally
 * rejected.
 */
type Rest = {
  readonly again: readonly Write[]
  readonly later: readonly Write[]
  readonly refused: readonly Refused[]
  /** First error of the writes to be repeated later. */
  readonly cause?: unknown
}
type Refused = { readonly write: Write; readonly cause: unknown }

const PARALLEL = 2
const LONGEST_ID = 512
/** Maximum requests to write a batch, including those with stubs. Writes left after that are not applied. */
const MOST_ROUNDS = 50

export class BulkWriter {
  readonly #cluster: Cluster
  readonly #options: BulkOptions

  constructor(cluster: Cluster, options: BulkOptions) {
    this.#cluster = cluster
    this.#options = options
  }

  /** Writes the documents to their targets. Throws the fault `not-applied` with the documents that failed. All others are applied. */
  async apply(documents: readonly IndexDocument[], targets: WriteTargets): Promise<void> {
    const failed = new Set<string>()
    let cause: unknown
    const batches = this.#batches(this.#writes(await this.#addressable(newestVersionsOf(documents, ({ version }) => version)), targets))
    const worker = async (): Promise<void> => {
      for (const batch of batches) {
        const rest = await this.#write(batch, targets)
        for (const { document } of [...rest.later, ...rest.refused.map(({ write }) => write)]) failed.add(idOf(document))
        cause ??= rest.cause ?? rest.refused[0]?.cause
      }
    }
    await Promise.all(Array.from({ length: PARALLEL }, worker))
    if (failed.size > 0)
      throw notApplied(
        documents.filter((each) => failed.has(idOf(each))),
        cause,
      )
  }

  /**
   * Removes documents whose ids are too long, and reports them to `onPoison`. OpenSearch would reject the whole request for one of them.
   */
  async #addressable(documents: readonly IndexDocument[]): Promise<readonly IndexDocument[]> {
    const isLong = (document: IndexDocument) => Buffer.byteLength(idOf(document)) > LONGEST_ID
    for (const document of documents.filter(isLong)) await this.#options.onPoison(document, 'id_too_long')
    return documents.filter((each) => !isLong(each))
  }

  *#writes(documents: readonly IndexDocument[], targets: WriteTargets): Generator<Write> {
    for (const document of documents) for (const target of targets.of(document)) yield { document, ...target, isStub: false }
  }

  *#batches(writes: Iterable<Write>): Generator<readonly Prepared[]> {
    let batch: Prepared[] = []
    let bytes = 0
    for (const write of writes) {
      const prepared = this.#prepare(write)
      const size = Buffer.byteLength(prepared.lines)
      if (batch.length > 0 && bytes + size > this.#options.mostBytes) {
        yield batch
        batch = []
        bytes = 0
      }
      batch.push(prepared)
      bytes += size
    }
    if (batch.length > 0) yield batch
  }

  #prepare(write: Write): Prepared {
    const { document, alias, isStub, form, isAgain = false } = write
    const versions = {
      version: externalVersion(this.#options.epoch, document.version),
      version_type: isAgain ? 'external_gte' : 'external',
    }
    const index = { _index: alias, _id: idOf(document), ...versions, require_alias: true }
    const body = (isStub ? stubOf : bodyOf)(document, this.#options.keepsBodies, form)
    return { ...write, lines: `${JSON.stringify({ index })}\n${body}\n` }
  }

  /** Sends the batch with retries. Returns the writes that were not applied, in `later` and `refused`. */
  async #write(batch: readonly Prepared[], targets: WriteTargets): Promise<Rest> {
    let left = batch
    const refused: Refused[] = []
    for (let attempt = 1, round = 1; ; round++) {
      const rest = await this.#request(left, targets).catch((cause: unknown) => restOf(left, cause))
      refused.push(...rest.refused)
      const all = [...rest.again, ...rest.later]
      const isFinal = rest.cause instanceof OpenSearchError ? !rest.cause.passes : rest.cause !== undefined
      const isOver = attempt === this.#cluster.limits.attempts && rest.later.length > 0
      if (all.length === 0 || isFinal || isOver || round === MOST_ROUNDS) return { again: [], later: all, refused, cause: rest.cause }
      if (rest.later.length > 0) await this.#cluster.pause(attempt++)
      left = all.map((write) => this.#prepare(write))
    }
  }

  async #request(batch: readonly Prepared[], targets: WriteTargets): Promise<Rest> {
    try {
      const { items } = await this.#cluster.sendOnce<BulkAnswer>({
        method: 'POST',
        path: '/_bulk',
        querystring: { refresh: this.#options.refresh === 'wait' ? 'wait_for' : false, filter_path: SHOWN, timeout: BULK_TIMEOUT },
        lines: batch.map(({ lines }) => lines).join(''),
      })
      return await this.#sort(batch, items, targets)
    } catch (error) {
      if (!(error instanceof OpenSearchError) || (error.status !== 400 && error.status !== 413)) throw error
      return this.#halved(batch, error, targets)
    }
  }

  /**
   * Sends the two halves of a batch that OpenSearch rejected as a whole, for one of its documents or for its size. A single document
   * becomes a stub.
   */
  async #halved(batch: readonly Prepared[], error: OpenSearchError, targets: WriteTargets): Promise<Rest> {
    if (batch.length === 1) {
      if (batch[0]!.isStub) return { again: [], later: [], refused: [{ write: batch[0]!, cause: error }] }
      return { again: [await this.#stubFor(batch[0]!, error.kind)], later: [], refused: [] }
    }
    const middle = batch.length >> 1
    const first = await this.#request(batch.slice(0, middle), targets).catch((cause: unknown) => restOf(batch.slice(0, middle), cause))
    const second = await this.#request(batch.slice(middle), targets).catch((cause: unknown) => restOf(batch.slice(middle), cause))
    return {
      again: [...first.again, ...second.again],
      later: [...first.later, ...second.later],
      refused: [...first.refused, ...second.refused],
      cause: first.cause ?? second.cause,
    }
  }

  async #sort(batch: readonly Prepared[], items: BulkAnswer['items'], targets: WriteTargets): Promise<Rest> {
    const [again, later, missing, refused]: [Write[], Write[], Write[], Refused[]] = [[], [], [], []]
    let cause: unknown
    const forms = new Map<string, Promise<IndexProperties>>()
    for (const [i, write] of batch.entries()) {
      // An incomplete response may lack the entry of a document. Its write is repeated later.
      const { status, error } = items[i]?.index ?? {}
      if (status === 200 || status === 201 || status === 409) continue
      if (status === 400 && !isIndexBlocked(error?.type)) {
        const kind = error?.type ?? 'unknown'
        if (kind === UNKNOWN && write.form === undefined) {
          if (!forms.has(write.alias)) forms.set(write.alias, this.#formOf(write.alias))
          again.push({ ...write, form: await forms.get(write.alias)! })
        } else if (write.isStub) refused.push({ write, cause: new OpenSearchError(status, kind) })
        else again.push(await this.#stubFor(write, kind))
      } else if (status === 404) {
        missing.push(write)
        if (write.ifMissing !== 'passed') refused.push({ write, cause: new OpenSearchError(status, error?.type ?? 'unknown') })
      } else {
        later.push(write)
        cause ??= new OpenSearchError(isTransient(status) ? status : 503, error?.type ?? 'unknown')
      }
    }
    if (missing.length > 0) await targets.missing(missing.filter(({ ifMissing }) => ifMissing === 'lost'))
    return { again, later, refused, cause }
  }

  async #formOf(alias: string): Promise<IndexProperties> {
    const indices = await this.#cluster.send<Mappings>({ method: 'GET', path: `/${alias}/_mapping` })
    return new Set(Object.values(indices).flatMap(({ mappings }) => Object.keys(mappings.properties ?? {})))
  }

  async #stubFor(write: Write, reason: string): Promise<Write> {
    await this.#options.onPoison(write.document, reason)
    return { ...write, isStub: true }
  }
}

/** Error type for a document with a property that the mapping of the index lacks. */
const UNKNOWN = 'strict_dynamic_mapping_exception'

type Mappings = Readonly<Record<string, { readonly mappings: { readonly properties?: Readonly<Record<string, unknown>> } }>>

type BulkAnswer = {
  readonly items: readonly { readonly index?: { readonly status?: number; readonly error?: { readonly type?: string } } }[]
}

const SHOWN = 'errors,items.*.status,items.*.error.type'

const restOf = (later: readonly Write[], cause: unknown): Rest => ({ again: [], later, refused: [], cause })
