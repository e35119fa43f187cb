/**
 * Bulk Data client: runs an export from the kick-off to files in a folder that match the manifest. After a crash or a lost connection, the
 * next run continues with the same job and the downloaded files. Memory use does not grow with the size of the files.
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
  readonly request: RequestedExport
  readonly folder: string
  /**
   * Whether to export only changes since the last export of the same request. Each export then gets a subfolder, named by its
   * transactionTime.
   */
  readonly sinceLast: boolean
  /** Whether the job continues after an abort by the signal, so that the next run finds it. */
  readonly keep: boolean
  /** Maximum concurrent downloads. */
  readonly parallel: number
  readonly onJob: (link: string, isKnown: boolean) => void
  /** Called with the progress text of the server, which may be empty. */
  readonly onProgress: (text: string) => void
  /** Called with the number of downloaded bytes of all files, including those of earlier runs, minus discarded ones. */
  readonly onBytes: (bytes: number) => void
}

export type ExportResult = {
  /** Folder with the files. */
  readonly folder: string
  readonly transactionTime: string
  readonly files: readonly (DownloadResult & Pick<ExportedFile, 'name' | 'kind'>)[]
  /** Issue texts of the error files, by severity: errors here, then warnings and information. At most MAX_ISSUES each. */
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
  readonly notes: readonly string[]
  readonly omittedTypes: OmittedTypes | undefined
}

const MANIFEST = 'manifest.json'
/** Maximum time for cancelling a job, in milliseconds. */
const LONGEST_CANCEL = 10_000

type Run = { readonly options: ExportOptions; readonly before: ExportState; readonly request: RequestedExport }

/** Runs the export. Throws ExportFault if it fails, or the reason of the signal if that aborts it. */
export async function runExport(options: ExportOptions): Promise<ExportResult> {
  const { folder, sinceLast } = options
  await makeFolder(folder)
  const before = (await readExportState(folder)) ?? (await unusedState(folder))
  const isSame = before.of === requestText(options.request)
  const since = sinceLast && isSame && before.transactionTime !== undefined ? { since: before.transactionTime } : {}
  const run = { options, before, request: { ...options.request, ...since } }
  const { manifest, link } = await manifestFor(run)
  return cleanUpAfter(run, link, () => downloadExport(run, manifest))
}

/**
 * Returns the empty state for a folder without an export. Throws if the folder holds a manifest or export files that this program did not
 * write, because the export would overwrite them.
 */
async function unusedState(folder: string): Promise<ExportState> {
  const found = (await readdir(folder)).find((name) => name === MANIFEST || EXPORT_FILE_NAME.test(name))
  if (found === undefined) return {}
  throw new Error(`${folder} has a ${found} that this command did not write: name another folder`)
}

/** Returns the manifest of the stored job if that has the same request. Otherwise starts a new job. */
async function manifestFor(run: Run): Promise<{ readonly manifest: Manifest; readonly link: string }> {
  const { options, before, request } = run
  const storedLink = before.job?.asked === requestText(request) ? before.job.link : undefined
  const found = storedLink === undefined ? undefined : await waitForStoredJob(run, storedLink)
  if (storedLink !== undefined && found !== undefined) return { manifest: found, link: storedLink }
  const link = await kickOff(request, options)
  await forgetParts(options.folder)
  await storeExportState(options.folder, { ...before, job: { link, asked: requestText(request) } })
  options.onJob(link, false)
  return { manifest: await cleanUpAfter(run, link, () => pollJob(link, options, options.onProgress)), link }
}

/** Waits for the stored job and returns its manifest, or undefined if the server no longer has the job. */
async function waitForStoredJob(run: Run, link: string): Promise<Manifest | undefined> {
  const { options } = run
  options.onJob(link, true)
  try {
    return await cleanUpAfter(run, link, () => pollJob(link, options, options.onProgress))
  } catch (error) {
    if (error instanceof JobNotFound) return undefined
    throw error
  }
}

/**
 * Runs `work` and cleans up if it fails. An abort by the signal cancels the job, unless `keep` is set. After an ExportFault other than
 * `unreachable` the job is removed from the state. After any other failure the next run continues the job.
 */
async function cleanUpAfter<Result>({ options, before }: Run, link: string, work: () => Promise<Result>): Promise<Result> {
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

/** Returns the request as one text. A stored job is continued only if its text is equal. */
const requestText = (request: RequestedExport): string => {
  const { url, body = '' } = kickOffRequestOf(request)
  return `${url} ${body}`.trim()
}

async function downloadExport({ options, before }: Run, manifest: Manifest): Promise<ExportResult> {
  const { folder, sinceLast } = options
  // Some systems do not allow a colon in a file name.
  const into = sinceLast ? join(folder, manifest.transactionTime.replaceAll(':', '')) : folder
  await makeFolder(into)
  const files = await downloadAll(manifest, into, options)
  const issues = await readIssues(manifest.files, into)
  await replaceFiles(manifest, into)
  // After errors, keep the previous transactionTime: the next incremental export must include the failed resources.
  const { job: _, ...rest } = before
  const isReached = sinceLast && issues.errors.length === 0
  await storeExportState(folder, isReached ? { transactionTime: manifest.transactionTime, of: requestText(options.request) } : rest)
  const { transactionTime, omittedTypes } = manifest
  return { folder: into, transactionTime, files, omittedTypes, ...issues }
}

/** Downloads all files as `.part` files. The first failure aborts the other downloads. */
async function downloadAll({ files, requiresAccessToken }: Manifest, into: string, options: ExportOptions): Promise<ExportResult['files']> {
  const failed = new AbortController()
  const { authorize, ...others } = options
  const requestOptions = {
    ...others,
    signal: AbortSignal.any([options.signal, failed.signal]),
    ...(requiresAccessToken ? { authorize } : {}),
  }
  const done = new Map<ExportedFile, DownloadResult>()
  let bytes = 0
  const onBytes = (more: number): void => {
    bytes += more
    options.onBytes(bytes)
  }
  const queue = files.values()
  const work = async (): Promise<void> => {
    for (const file of queue) {
      done.set(file, await download(file, join(into, file.name), requestOptions, onBytes))
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

const MAX_ISSUES = 100

type IssueTexts = Pick<ExportResult, 'errors' | 'warnings' | 'notes'>

/** Returns the issue texts of the error files, at most MAX_ISSUES for each of the three lists. */
async function readIssues(files: readonly ExportedFile[], into: string): Promise<IssueTexts> {
  const issues = { errors: [] as string[], warnings: [] as string[], notes: [] as string[] }
  for (const { name } of files.filter(({ kind }) => kind === 'error')) {
    for await (const line of createInterface({ input: createReadStream(partFileOf(join(into, name))) })) {
      for (const { severity, details, diagnostics, code } of parseOutcomeIssues(line) ?? []) {
        const list = severity === 'information' ? issues.notes : severity === 'warning' ? issues.warnings : issues.errors
        if (list.length < MAX_ISSUES) list.push(details?.text ?? diagnostics ?? code ?? 'without a reason')
      }
    }
  }
  return issues
}

/**
 * Replaces the files of the last export. All new files must be complete. The manifest is removed first and written last, so that it never
 * names missing files.
 */
async function replaceFiles({ files, whole }: Manifest, into: string): Promise<void> {
  const path = join(into, MANIFEST)
  const names = new Set(files.map(({ name }) => name))
  const previous = await namesOf(path)
  await rm(path, { force: true })
  for (const name of previous) if (!names.has(name)) await rm(join(into, name), { force: true })
  for (const { name } of files) {
    await rename(partFileOf(join(into, name)), join(into, name))
    await rm(partStateFileOf(join(into, name)), { force: true })
  }
  await flushFolder(into)
  await replaceDurably(path, (file) => file.writeFile(`${JSON.stringify({ ...whole, files: [...names] }, null, 2)}\n`))
}

/** Returns the names of the last export's files, from its manifest. Only these files may be removed from the folder. */
async function namesOf(manifest: string): Promise<readonly string[]> {
  try {
    const { files } = JSON.parse(await readFile(manifest, 'utf8')) as { readonly files?: unknown }
    return Array.isArray(files) ? files.filter((name) => typeof name === 'string' && EXPORT_FILE_NAME.test(name)) : []
  } catch {
    return []
  }
}

const EXPORT_FILE_NAME = /^[A-Za-z]{1,64}(?:-\d+)?\.ndjson$/

/** Removes the `.part` files of a previous job. */
async function forgetParts(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    if (/\.ndjson\.part(?:\.json)?$/.test(name)) await rm(join(folder, name), { force: true })
  }
}
