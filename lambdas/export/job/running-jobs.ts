/** How many exports of a client run at once: a row with their ids for each client of a tenant, so that of kick-offs that race none is one too many. */
import { createHash } from 'node:crypto'
import type { Rows } from '../../ports/rows/rows.ts'
import type { Job } from './job.ts'
import { readJob } from './job-transitions.ts'

const CLIENTS = 'export-clients'

type Running = { readonly jobs: readonly string[] }

/** False: as many as may run already run. `most`: of the client at once. The job's own row stands already. */
export async function admitJob(rows: Rows, { id, tenant, client }: Pick<Job, 'id' | 'tenant' | 'client'>, most: number): Promise<boolean> {
  const name = createHash('sha256')
    .update(JSON.stringify([tenant, client]))
    .digest('base64url')
  const known = (await rows.read<Running>(CLIENTS, name))?.jobs ?? []
  const ended = new Set<string>()
  for (const each of known) if ((await readJob(rows, each))?.state !== 'in-progress') ended.add(each)
  const kept = await rows.change<Running>(CLIENTS, name, (value) => {
    const running = value?.jobs.filter((each) => !ended.has(each)) ?? []
    return running.length >= most || running.includes(id) ? value : { jobs: [...running, id] }
  })
  return kept?.jobs.includes(id) ?? false
}
