/**
 * Manifest: the response to a status request for a complete job. Specification 2.7;
 * https://hl7.org/fhir/uv/bulkdata/STU2/export.html#response---complete-status
 */
import { toInstant } from '../../fhir/version.ts'
import { GROUP_TYPES_SETTING } from '../export-request.ts'
import { filesNeedToken, type Job, type JobFile } from './job.ts'

type Item = { readonly type: string; readonly url: string; readonly count: number }

export type Manifest = {
  readonly transactionTime: string
  readonly request: string
  readonly requiresAccessToken: boolean
  readonly output: readonly Item[]
  /** Present if the request had `_since`. */
  readonly deleted?: readonly Item[]
  readonly error: readonly Item[]
  /** `omittedTypes`: stored types of the Patient compartment that the named setting excludes from Group exports. */
  readonly extension?: { readonly omittedTypes: { readonly types: readonly string[]; readonly setting: string } }
}

/** Returns the manifest of a complete job. `urls`: link to each file by file name, or its key in a bucket that receives copies. */
export function manifestOf(job: Job, urls: ReadonlyMap<string, string>): Manifest {
  const { transactionTime, request, asked, files = [], omittedTypes } = job
  const items = (itemKind: JobFile['kind']): readonly Item[] =>
    files.filter(({ kind }) => kind === itemKind).map(({ name, type, count }) => ({ type, url: urls.get(name)!, count }))
  return {
    ...{ transactionTime: toInstant(transactionTime), request, requiresAccessToken: filesNeedToken(job), output: items('output') },
    ...(asked.since === undefined ? {} : { deleted: items('deleted') }),
    error: items('error'),
    ...(omittedTypes === undefined ? {} : { extension: { omittedTypes: { types: omittedTypes, setting: GROUP_TYPES_SETTING } } }),
  }
}
