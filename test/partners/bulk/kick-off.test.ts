/** Kick-off of a match of many members. */
import { describe, expect, it } from '@jest/globals'
import { type Access, WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { admitJob } from '../../../lambdas/export/job/running-jobs.ts'
import { fhirError } from '../../../lambdas/fhir/outcome.ts'
import type { FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import { startBulkMatch } from '../../../lambdas/interactions/operations/bulk-match.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { ANN, bulkInput, OTHER, OWN } from '../payer-exchange.ts'

const BASE_URL = 'https://payer.example/fhir'

/** Returns a server on which no job ends by itself. */
function serverOf(blobs = new MemoryBlobs(), check: (client: string) => Promise<void> = async () => undefined) {
  let ids = 0
  const rows = new MemoryRows()
  const started: string[] = []
  const workflow = { start: async (name: string) => void started.push(name), stop: async () => undefined, isRunning: async () => true }
  const choices = {
    ...({ payer: [OWN], organizationName: '', sensitiveLabels: 'none', reportOptOut: false, treatment: 'attested' } as const),
    ...{ maxMatchMembers: 3, payerGroupDays: 366, providerGroupDays: 30 },
  }
  const exports = { rows, blobs, workflow, report: (error: unknown) => Promise.reject(error) }
  const match = startBulkMatch({ clock: { now: () => 1, newId: () => `job${++ids}` }, choices, exports, matchLimits: { check } }, 'payer')
  const request = (body: Tree, client = 'c', access: Access = WHOLE_ACCESS): FhirRequest => ({
    ...{ tenant: 't', client, user: undefined, clientAuth: 'assertion', access, baseUrl: BASE_URL, requestId: 'r' },
    ...{ reading: { baseUrl: BASE_URL }, interaction: 'bulk-member-match', type: 'Group', parameters: [], posted: true, preconditions: {} },
    ...{ preferences: { 'respond-async': 'true' }, resource: body as FhirRequest['resource'] & object },
  })
  return {
    started,
    rows,
    blobs,
    send: (body: Tree, ...caller: [client?: string, access?: Access]) => match(request(JSON.parse(JSON.stringify(body)), ...caller)),
  }
}

/** Access of a partner with the scope of its operation. */
const PARTNER: Access = {
  ...WHOLE_ACCESS,
  partner: { partner: { kind: 'payer', identifiers: [OTHER] }, exported: WHOLE_ACCESS.clauses, operations: [] },
}

const membersOf = (count: number): Tree => bulkInput(Array.from({ length: count }, () => ({ member: ANN })))

describe('the kick-off of a match', () => {
  it('is answered with the URL of its job, which is a match', async () => {
    const { send, rows, started } = serverOf()
    expect(await send(membersOf(3))).toEqual({
      status: 202,
      headers: { 'content-location': `${BASE_URL}/export/job1` },
      job: expect.objectContaining({ kind: 'match', match: expect.objectContaining({ members: 3 }) }),
    })
    expect([await rows.read('exports', 'job1'), started]).toEqual([expect.objectContaining({ kind: 'match' }), ['job1-1']])
  })

  it('is answered 413 above the maximum, and stores nothing', async () => {
    const { send, blobs, started } = serverOf()
    await expect(send(membersOf(4))).rejects.toEqual(expect.objectContaining({ status: 413 }))
    const keys: string[] = []
    for await (const { key } of blobs.list('')) keys.push(key)
    expect([keys, started]).toEqual([[], []])
  })

  it('is answered 429 while five matches of the client run', async () => {
    const { send, rows } = serverOf()
    for (let i = 0; i < 5; i++) expect((await send(membersOf(1))).status).toBe(202)
    await expect(send(membersOf(1))).rejects.toEqual(expect.objectContaining({ status: 429 }))
    expect(await rows.read('exports', 'job6')).toBeUndefined()
    expect((await send(membersOf(1), 'another')).status).toBe(202)
  })

  it('is answered 429 while a partner has to wait, and stores nothing', async () => {
    const { send, rows, started } = serverOf(new MemoryBlobs(), async (client) => {
      throw fhirError(429, 'throttled', `${client} has to wait`)
    })
    await expect(send(membersOf(1), 'p', PARTNER)).rejects.toThrow('p has to wait')
    expect([await rows.read('exports', 'job1'), started]).toEqual([undefined, []])
    expect((await send(membersOf(1))).status).toBe(202)
  })

  it('counts no exports, and exports count no matches', async () => {
    const { send, rows } = serverOf()
    const runsExport = async (id: string): Promise<boolean> => {
      const job = { id, tenant: 't', client: 'c', state: 'in-progress' } as const
      await rows.change('exports', id, () => job)
      return admitJob(rows, job, 5)
    }
    for (let i = 0; i < 5; i++) expect(await runsExport(`export${i}`)).toBe(true)
    for (let i = 0; i < 5; i++) expect((await send(membersOf(1))).status).toBe(202)
    expect(await runsExport('export5')).toBe(false)
  })
})
