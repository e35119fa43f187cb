/**
 * Loads files into a server in passes. The first pass sends the resources that refer to others by id, or not at all. The next passes send
 * those that refer to others by search, or by fullUrl to entries of other files. They end when a pass stores nothing. Therefore the order
 * of the files is irrelevant, and no resource is stored with an unresolved reference.
 */
import { isConditionalReference } from '../../lambdas/fhir/references.ts'
import { type Authorize, createGet, createPost } from '../client/http-post.ts'
import { checkFhirBase } from './base-url-check.ts'
import { type Chunk, chunksOf } from './bundle-chunks.ts'
import { type BundleSender, bundleSender } from './bundle-sender.ts'
import { type ReplacementFinder, replacementFinder } from './conditional-creates.ts'
import { groupByExport, type SkippedFile, separateExportRecords } from './export-folders.ts'
import type { ReusedBuffers, SourceFile } from './file-reader.ts'
import { FullUrlIndex } from './full-url-index.ts'
import { waitUntilSearchable } from './index-wait.ts'
import type { LoadEntry, LoadFailure } from './load-entries.ts'
import { sizedTextOf } from './patched-bytes.ts'
import { type ReferenceLookup, type ReferenceMatches, referenceLookup } from './reference-lookup.ts'
import { ReusedBuffer } from './reused-buffer.ts'

/**
 * Progress since the last call. `resources`: sent resources, including refused ones. `bytes`: sizes of the files that were read. `again`:
 * bytes that another pass will read again.
 */
export type LoadProgress = { readonly resources: number; readonly bytes: number; readonly again: number }

export type LoadOptions = {
  /** Base URL without a trailing slash. */
  readonly base: string
  /** Authorizes requests, if the server requires it. */
  readonly authorize?: Authorize
  /** Maximum concurrent Bundles. */
  readonly concurrency: number
  /** Called after each Bundle, after each file, and when another pass begins. */
  readonly onProgress: (progress: LoadProgress) => void
  /**
   * Called with the number of versions that searches do not find yet. With this callback the load ends when everything is searchable,
   * otherwise when everything is stored.
   */
  readonly onBehind?: (versions: number) => void
}

/**
 * `isSearchable`: whether searches find everything; absent if the load did not wait for that. `present`: number of entries that were not
 * loaded because their ifNoneExist matched another resource. `failures`: one per refused resource or unresolved reference, so several for
 * some resources. `skipped`: files and lines of exports that are not resources.
 */
export type LoadResult = {
  readonly resources: number
  readonly present: number
  readonly failures: readonly LoadFailure[]
  readonly skipped: readonly SkippedFile[]
  readonly isSearchable?: boolean
}

/**
 * Loads the files. Rejects if the server cannot be reached or is not a FHIR server, or if an export is not finished. Returns refused
 * resources and unreadable content as failures.
 */
export async function load(all: readonly SourceFile[], options: LoadOptions): Promise<LoadResult> {
  const { sources, skipped } = separateExportRecords(all)
  await checkFhirBase(options.base)
  using fullUrls = new FullUrlIndex()
  const run = begin(options, fullUrls)
  let waiting: Waiting = await loadPlain(run, sources)
  for (let before = -1; waiting.size > 0 && run.resources > before; ) {
    before = run.resources
    options.onProgress({ ...NO_PROGRESS, again: [...waiting.keys()].reduce((sum, { size }) => sum + size, 0) })
    run.lookUp.again([...run.tokens.values()])
    waiting = await loadReferring(run, waiting)
  }
  for (const places of waiting.values()) for (const failures of places?.values() ?? []) run.failures.push(...failures)
  const { resources, present, failures } = run
  return { resources, present, failures, skipped: [...skipped, ...skippedFiles(run)], ...(await searchable(options, run)) }
}

async function searchable({ base, authorize, onBehind }: LoadOptions, run: Run): Promise<Pick<LoadResult, 'isSearchable'>> {
  if (onBehind === undefined) return {}
  return { isSearchable: await waitUntilSearchable({ base, get: createGet(authorize), tokens: [...run.tokens.values()], onBehind }) }
}

const NO_PROGRESS: LoadProgress = { resources: 0, bytes: 0, again: 0 }

type Worker = { readonly send: BundleSender; readonly memories: ReusedBuffers }

type Run = Pick<LoadOptions, 'onProgress'> & {
  readonly workers: readonly Worker[]
  readonly lookUp: ReferenceLookup
  readonly fullUrls: FullUrlIndex
  readonly replaced: ReplacementFinder
  /** Last X-Index-Token of each worker, by its number. */
  readonly tokens: Map<number, string>
  readonly failures: LoadFailure[]
  /** Content that is not loaded, by file: descriptions with the number of their occurrences. */
  readonly skipped: Map<string, Map<string, number>>
  /** Place and key of the failures that were reported while reading. */
  readonly reported: Set<string>
  resources: number
  present: number
}

function begin({ base, authorize, concurrency, onProgress }: LoadOptions, fullUrls: FullUrlIndex): Run {
  const tokens = new Map<number, string>()
  const workerOf = (_: unknown, number: number): Worker => {
    const post = createPost(base, authorize)
    // The load waits for the index once, at its end. With strong consistency each of its requests would wait.
    const send = bundleSender(async (body) => {
      const answer = await post(body, { 'x-consistency': 'eventual' })
      const token = answer.headers['x-index-token']
      if (typeof token === 'string') tokens.set(number, token)
      return answer
    })
    return { send, memories: { bytes: new ReusedBuffer(), copy: new ReusedBuffer() } }
  }
  const workers = Array.from({ length: concurrency }, workerOf)
  const lookUp = referenceLookup(createPost(base, authorize))
  return {
    workers,
    lookUp,
    fullUrls,
    replaced: indexing(fullUrls, replacementFinder(lookUp)),
    tokens,
    failures: [],
    skipped: new Map(),
    reported: new Set(),
    resources: 0,
    present: 0,
    onProgress,
  }
}

/** Wraps a finder, so that it also indexes the fullUrls of the entries. */
const indexing =
  (index: FullUrlIndex, replaced: ReplacementFinder): ReplacementFinder =>
  async (opened, place) => {
    const replacement = await replaced(opened, place)
    const { others, refused } = replacement
    for (const { key, url } of opened.fullUrls) if (!refused.has(key)) index.add(url, others.get(key) ?? key)
    return replacement
  }

/** Entries with unresolved references, by file and place. undefined: all such entries of the file. */
type Waiting = ReadonlyMap<SourceFile, ReadonlyMap<string, readonly LoadFailure[]> | undefined>

async function loadPlain(run: Run, sources: readonly SourceFile[]): Promise<Waiting> {
  const waiting = new Map<SourceFile, undefined>()
  const accepts = ({ searches }: LoadEntry, source: SourceFile): boolean => {
    if (searches.length > 0) waiting.set(source, undefined)
    return searches.length === 0
  }
  await eachChunk(run, sources, accepts, async ({ entries, failures, present }) => {
    recordFailures(run, failures)
    run.present += present
    return entries
  })
  return waiting
}

async function loadReferring(run: Run, waiting: Waiting): Promise<Waiting> {
  const still = new Map<SourceFile, Map<string, readonly LoadFailure[]>>()
  const accepts = ({ searches, place }: LoadEntry, source: SourceFile): boolean =>
    searches.length > 0 && (waiting.get(source)?.has(place) ?? true)
  const resolve = (entry: LoadEntry, source: SourceFile, { missing, invalid }: Unresolved): boolean => {
    if (invalid.length > 0) run.failures.push(...invalid, ...missing)
    else if (missing.length > 0) still.set(source, (still.get(source) ?? new Map()).set(entry.place, missing))
    return invalid.length === 0 && missing.length === 0
  }
  await eachChunk(run, [...waiting.keys()], accepts, async ({ entries, failures }, source) => {
    recordFailures(run, failures)
    const unresolved = await resolveReferences(run, entries)
    return entries.filter((entry, i) => resolve(entry, source, unresolved[i]!))
  })
  return still
}

/** Records failures. If a file is read again, records only those that were not reported before. */
function recordFailures({ failures, reported }: Run, found: readonly LoadFailure[]): void {
  const newFailures = found.filter(({ place, key }) => !reported.has(`${place} ${key}`))
  for (const { place, key } of newFailures) reported.add(`${place} ${key}`)
  failures.push(...newFailures)
}

/**
 * Unresolved references of an entry. `missing`: no match exists, or not yet. `invalid`: the reference is invalid or matches several
 * resources.
 */
type Unresolved = { readonly missing: readonly LoadFailure[]; readonly invalid: readonly LoadFailure[] }

/** Resolves the references of the entries, in place. Returns the unresolved ones of each entry. All files must have been read before. */
async function resolveReferences({ lookUp, fullUrls }: Run, entries: readonly LoadEntry[]): Promise<readonly Unresolved[]> {
  const all = entries.flatMap(({ searches }) => searches.map(({ to }) => to))
  const found = await lookUp.meanings(all.filter(isConditionalReference))
  const meaningOf = (to: string): ReferenceMatches => (isConditionalReference(to) ? found(to) : fullUrls.meaning(to))
  return entries.map(({ place, key, searches }) => {
    const unresolved = { missing: [] as LoadFailure[], invalid: [] as LoadFailure[] }
    for (const search of searches) {
      const { keys, fault } = meaningOf(search.to)
      if (keys.length === 1) search.text = sizedTextOf(JSON.stringify(keys[0]))
      else if (fault !== undefined) unresolved.invalid.push({ place, key, reason: `${search.to}: ${fault}` })
      else if (keys.length > 1) unresolved.invalid.push({ place, key, reason: `${search.to} matches several resources` })
      else unresolved.missing.push({ place, key, reason: `${search.to} matches nothing` })
    }
    return unresolved
  })
}

/** Reads the entries that `accepts` accepts, and sends those that `choose` returns. Reads one export after the other. */
async function eachChunk(
  run: Run,
  sources: readonly SourceFile[],
  accepts: (entry: LoadEntry, source: SourceFile) => boolean,
  choose: (chunk: Chunk, source: SourceFile) => Promise<readonly LoadEntry[]>,
): Promise<void> {
  for (const group of groupByExport(sources)) {
    const queue = group.values()
    const work = async ({ send, memories }: Worker): Promise<void> => {
      for (const source of queue) {
        for await (const chunk of chunksOf(source, memories, run.replaced, (entry) => accepts(entry, source), onSkipped)) {
          const entries = await choose(chunk, source)
          const failed = entries.length === 0 ? [] : await send(entries)
          run.failures.push(...failed)
          run.resources += entries.length - failed.length
          run.onProgress({ ...NO_PROGRESS, resources: entries.length })
        }
        run.onProgress({ ...NO_PROGRESS, bytes: source.size })
      }
    }
    await Promise.all(run.workers.map(work))
  }

  function onSkipped({ file }: SourceFile, description: string): void {
    const counts = run.skipped.get(file) ?? new Map<string, number>()
    const key = counts.size < MAX_DESCRIPTIONS || counts.has(description) ? description : 'and more'
    run.skipped.set(file, counts.set(key, (counts.get(key) ?? 0) + 1))
  }
}

/** Maximum different descriptions reported per file. The others are reported as `and more`. */
const MAX_DESCRIPTIONS = 100

const skippedFiles = ({ skipped }: Run): readonly SkippedFile[] =>
  [...skipped].flatMap(([file, descriptions]) =>
    [...descriptions].map(([description, times]) => ({ file, description: times === 1 ? description : `${description} (${times} lines)` })),
  )
