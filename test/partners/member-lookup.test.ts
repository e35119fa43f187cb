/** Lookup of the member in context for a token. It runs on the thread that serves all requests. */
import { expect, it, jest } from '@jest/globals'
import { OPT_OUT_GROUP } from '../../lambdas/partners/codes.ts'
import { partnerMembers } from '../../lambdas/runtime/authorization/partner-members.ts'
import { referenceTo, type Tree } from '../fixtures/resources.ts'
import { memberStoreOf } from './member-store.ts'

const NPI = { system: 'http://hl7.org/fhir/sid/us-npi', value: '1234567893' }
const CONFIG = { payer: [], sensitiveLabels: 'none', payerWindowYears: 5, providerSince: '2016-01-01', timeZone: 'UTC' } as const

const memberOf = (patient: string): Tree => ({ entity: referenceTo(`Patient/${patient}`) })
const groupOf = (id: string, fields: Tree): Tree => ({ resourceType: 'Group', id, type: 'person', actual: true, ...fields })

/** Group of the provider with the persons that it sent. */
const MATCHED = groupOf('matched', {
  contained: Array.from({ length: 2_000 }, (_, i) => ({ resourceType: 'Patient', id: `p-${i}`, address: [{ city: 'x'.repeat(100) }] })),
  identifier: [NPI],
  member: [memberOf('ann')],
})
const OPT_OUTS = groupOf('opt-outs', {
  meta: { profile: [OPT_OUT_GROUP] },
  member: [...Array.from({ length: 20_000 }, (_, i) => memberOf(`m-${i}`)), { ...memberOf('ann'), inactive: true }],
})

it('parses no large part of a Group, and lets other requests run between the parts of Groups', async () => {
  const { index, heads, reading } = await memberStoreOf([{ resourceType: 'Patient', id: 'ann' }, MATCHED, OPT_OUTS])
  const clock = { now: () => Date.parse('2026-02-15'), newId: () => 'id' }
  const disclosures = { put: async () => undefined }
  const members = partnerMembers({ ...{ heads, clock, disclosures, config: CONFIG }, index: () => index, reading: () => reading })
  const client = { id: 'clinic', partner: { kind: 'provider', identifiers: [NPI] } } as unknown as Parameters<typeof members.find>[0]
  const parse = jest.spyOn(JSON, 'parse')
  // Each slice of work is used up at once.
  let time = 0
  const now = jest.spyOn(performance, 'now').mockImplementation(() => (time += 1_000))
  let turns = 0
  let isDone = false
  const countTurn = (): void => {
    turns++
    if (!isDone) setImmediate(countTurn)
  }
  try {
    setImmediate(countTurn)
    expect((await members.find(client, 't', 'Patient/ann'))?.patient).toBe('ann')
    isDone = true
    expect(Math.max(...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(70_000)
    // The Groups have about 1.3 MB, in parts of 64 kB.
    expect(turns).toBeGreaterThan(20)
  } finally {
    isDone = true
    parse.mockRestore()
    now.mockRestore()
  }
})
