/**
 * An export of a server of Bulk Data, from its kick-off to files in a folder that are what the manifest says. Whoever is interrupted, killed or
 * cut off runs it again: it goes on with the same job and the files that are there. Memory does not grow with them.
 */
import { createReadStream } from 'node:fs'
import { readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { flushFolder, makeFolder, replaceDurably } from '../../lambdas/adapters/filesystem/durable-file.ts'
import { parseOutcomeIssues } from '../client/server-response.ts'
import { type DownloadResult, download, partFileOf, partStateFileOf } from './download.ts'
import { ExportFault } from './export-fault.ts'
import { type ExportState, readExportState, storeExportState } from './export-state.ts'
import { cancelJob, JobNotFound, pollJob } from './job-poll.ts'
import { kickOff, kickOffRequestOf, type RequestedExport } from './kick-off.ts'
import type { ExportedFile, Manifest, OmittedTypes } from './manifest.ts'
import type { RequestOptions } from './retrying-requests.ts'

export type ExportOptions = RequestOptions & {
  readonly wanted: RequestedExport
  readonly folder: string
  /** From where the last one ended that was asked for the same; each then has a folder of its own in the folder, named by its transactionTime. */
  readonly sinceLast: boolean
  /** Where the signal ends it, the job goes on, and the next run finds it. */
  readonly keep: boolean
  /** Files under way at once. */
  readonly parallel: number
  readonly onJob: (link: string, isKnown: boolean) => void
  /** What the server says of how far it is. */
  readonly onProgress: (text: string) => void
  /** Of all files so far. */
  readonly onBytes: (bytes: number) => void
}

export type ExportResult = {
  /** Where the files are. */
  readonly folder: string
  readonly transactionTime: string
  readonly files: readonly (DownloadResult & Pick<ExportedFile, 'name' | 'kind'>)[]
  /** What the server says it could not export, what it left out, and what else it tells. */
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
  readonly notes: readonly string[]
  readonly omittedTypes: OmittedTypes | undefined
}

const MANIFEST = 'manifest.json'
/** Milliseconds for taking a job back. */
const LONGEST_CANCEL = 10_000

type Run = { readonly options: ExportOptions; readonly before: ExportState; readonly wanted: RequestedExport }

/** ExportFault; what the signal says, where it ends it. */
export async function runExport(options: ExportOptions): Promise<ExportResult> {
  const { folder, sinceLast } = options
  await makeFolder(folder)
  const before = (await readExportState(folder)) ?? (await nothingIn(folder))
  const isSame = before.of === askedIn(options.wanted)
  const since = sinceLast && isSame && before.transactionTime !== undefined ? { since: before.transactionTime } : {}
  const run = { options, before, wanted: { ...options.wanted, ...since } }
  const { manifest, link } = await manifestFor(run)
  return ending(run, link, () => take(run, manifest))
}

/** Error where a file of somebody else would be written over. */
async function nothingIn(folder: string): Promise<ExportState> {
  const found = (await readdir(folder)).find((name) => name === MANIFEST || OURS.test(name))
  if (found === undefined) return {}
  throw new Error(`${folder} has a ${found} that is of no export of this program: give a folder of its own`)
}

/** Of the job that is known, where it was asked for the same; else of one that is begun. */
async function manifestFor(run: Run): Promise<{ readonly manifest: Manifest; readonly link: string }> {
  const { options, before, wanted } = run
  const known = before.job?.asked === askedIn(wanted) ? before.job.link : undefined
  const found = known === undefined ? undefined : await untilKnownDone(run, known)
  if (known !== undefined && found !== undefined) return { manifest: found, link: known }
  const link = await kickOff(wanted, options)
  await forgetParts(options.folder)
  await storeExportState(options.folder, { ...before, job: { link, asked: askedIn(wanted) } })
  options.onJob(link, false)
  return { manifest: await ending(run, link, () => pollJob(link, options, options.onProgress)), link }
}

/** undefined: the server has forgotten it. */
async function untilKnownDone(run: Run, link: string): Promise<Manifest | undefined> {
  const { options } = run
  options.onJob(link, true)
  try {
    return await ending(run, link, () => pollJob(link, options, options.onProgress))
  } catch (error) {
    if (error instanceof JobNotFound) return undefined
    throw error
  }
}

/** A job that nobody waits for is taken back; one that cannot be gone on with is forgotten. One that is cut off is found by the next run. */
async function ending<Result>({ options, before }: Run, link: string, work: () => Promise<Result>): Promise<Result> {
  const { signal, keep, folder, patience } = options
  try {
    return await work()
  } catch (error) {
    const isUnwanted = signal.aborted && !keep
    if (isUnwanted)
      await cancelJob(link, { ...options, patience: { ...patience, attempts: 2 }, signal: AbortSignal.timeout(LONGEST_CANCEL) })
    if (isUnwanted) await forgetParts(folder)
    const isOver = error instanceof ExportFault && error.kind !== 'unreachable'
    const { job: _, ...rest } = before
    if (isUnwanted || isOver) await storeExportState(folder, rest)
    throw error
  }
}

/** What it was asked for, as one text: another question begins another job. */
const askedIn = (wanted: RequestedExport): string => {
  const { url, body = '' } = kickOffRequestOf(wanted)
  return `${url} ${body}`.trim()
}

async function take({ options, before }: Run, manifest: Manifest): Promise<ExportResult> {
  const { folder, sinceLast } = options
  // A colon is no part of a name everywhere.
  const into = sinceLast ? join(folder, manifest.transactionTime.replaceAll(':', '')) : folder
  await makeFolder(into)
  const files = await downloadAll(manifest, into, options)
  const told = await toldIn(manifest.files, into)
  await takeTheirPlaces(manifest, into)
  // What could not be exported would be missed by those that go on from here.
  const { job: _, ...former } = before
  const isReached = sinceLast && told.errors.length === 0
  await storeExportState(folder, isReached ? { transactionTime: manifest.transactionTime, of: askedIn(options.wanted) } : former)
  const { transactionTime, omittedTypes } = manifest
  return { folder: into, transactionTime, files, omittedTypes, ...told }
}

/** As `Type.ndjson.part`, all that is told. The first that fails ends the others. */
async function downloadAll({ files, requiresAccessToken }: Manifest, into: string, options: ExportOptions): Promise<ExportResult['files']> {
  const failed = new AbortController()
  const { authorize, ...others } = options
  const asking = { ...others, signal: AbortSignal.any([options.signal, failed.signal]), ...(requiresAccessToken ? { authorize } : {}) }
  const done = new Map<ExportedFile, DownloadResult>()
  let bytes = 0
  const onBytes = (more: number): void => {
    bytes += more
    options.onBytes(bytes)
  }
  const queue = files.values()
  const work = async (): Promise<void> => {
    for (const file of queue) {
      done.set(file, await download(file, join(into, file.name), asking, onBytes))
    }
  }
  const ended = (error: unknown): never => {
    failed.abort(error)
    throw error
  }
  await Promise.allSettled(Array.from({ length: options.parallel }, () => work().catch(ended)))
  options.signal.throwIfAborted()
  failed.signal.throwIfAborted()
  return files.map((file) => ({ name: file.name, kind: file.kind, ...done.get(file)! }))
}

const MOST_TOLD = 100

type Told = Pick<ExportResult, 'errors' | 'warnings' | 'notes'>

/** What the files of OperationOutcomes say, as far as somebody reads it. */
async function toldIn(files: readonly ExportedFile[], into: string): Promise<Told> {
  const told = { errors: [] as string[], warnings: [] as string[], notes: [] as string[] }
  for (const { name } of files.filter(({ kind }) => kind === 'error')) {
    for await (const line of createInterface({ input: createReadStream(partFileOf(join(into, name))) })) {
      for (const { severity, details, diagnostics, code } of parseOutcomeIssues(line) ?? []) {
        const list = severity === 'information' ? told.notes : severity === 'warning' ? told.warnings : told.errors
        if (list.length < MOST_TOLD) list.push(details?.text ?? diagnostics ?? code ?? 'without a reason')
      }
    }
  }
  return told
}

/** All files are whole: they take the places of those of the last export, and the manifest, which was taken away before, says that they are there. */
async function takeTheirPlaces({ files, whole }: Manifest, into: string): Promise<void> {
  const path = join(into, MANIFEST)
  const names = new Set(files.map(({ name }) => name))
  const former = await namesOf(path)
  await rm(path, { force: true })
  for (const name of former) if (!names.has(name)) await rm(join(into, name), { force: true })
  for (const { name } of files) {
    await rename(partFileOf(join(into, name)), join(into, name))
    await rm(partStateFileOf(join(into, name)), { force: true })
  }
  await flushFolder(into)
  await replaceDurably(path, (file) => file.writeFile(`${JSON.stringify({ ...whole, files: [...names] }, null, 2)}\n`))
}

/** Of the files of the last export: nothing else of the folder is ours. */
async function namesOf(manifest: string): Promise<readonly string[]> {
  try {
    const { files } = JSON.parse(await readFile(manifest, 'utf8')) as { readonly files?: unknown }
    return Array.isArray(files) ? files.filter((name) => typeof name === 'string' && OURS.test(name)) : []
  } catch {
    return []
  }
}

const OURS = /^[A-Za-z]{1,64}(?:-\d+)?\.ndjson$/

/** They are of another job. */
async function forgetParts(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    if (/\.ndjson\.part(?:\.json)?$/.test(name)) await rm(join(folder, name), { force: true })
  }
}
