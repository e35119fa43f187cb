/**
 * Limits the running exports of a client, and its running matches. A row for each client of a tenant and kind holds the ids of the jobs. Each
 * kick-off changes that row atomically, so concurrent kick-offs cannot exceed the limit.
 */
import { createHash } from 'node:crypto'
import type { Rows } from '../../ports/rows/rows.ts'
import type { Job } from './job.ts'
import { readJob } from './job-transitions.ts'

const CLIENTS = 'export-clients'

type Running = { readonly jobs: readonly string[] }

/**
 * Adds the job to its client's running jobs. Returns false if the client already runs `limit` jobs of its kind. The job's own row must exist, because
 * jobs without one count as ended.
 */
export async function admitJob(
  rows: Rows,
  { id, tenant, client, kind }: Pick<Job, 'id' | 'tenant' | 'client' | 'kind'>,
  limit: number,
): Promise<boolean> {
  const name = createHash('sha256')
    .update(JSON.stringify(kind === undefined ? [tenant, client] : [tenant, client, kind]))
    .digest('base64url')
  const previous = (await rows.read<Running>(CLIENTS, name))?.jobs ?? []
  const ended = new Set<string>()
  for (const each of previous) if ((await readJob(rows, each))?.state !== 'in-progress') ended.add(each)
  const stored = await rows.change<Running>(CLIENTS, name, (value) => {
    const running = value?.jobs.filter((each) => !ended.has(each)) ?? []
    return running.length >= limit || running.includes(id) ? value : { jobs: [...running, id] }
  })
  return stored?.jobs.includes(id) ?? false
}
