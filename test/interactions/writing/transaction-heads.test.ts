/** Heads of large resources that a transaction writes after. Bytes that are held and read at once are counted. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Access, WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { LETTERS } from '../../../lambdas/access/scopes.ts'
import type { FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import { readTransactionHeads } from '../../../lambdas/interactions/writing/transaction-heads.ts'
import type { ResourceKey, ResourceReader, ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { patientKeyOf } from '../../fixtures/versions.ts'

const MB = 1_000_000
const SIZE = 14 * MB
const BODY = new Uint8Array(SIZE)
const OF_PATIENT: Access = {
  clauses: [{ type: '*', letters: LETTERS, query: '', within: ['Patient/p'] }],
  isAdministrator: false,
  context: 'patient',
}

/** Bytes of the largest reading. */
let most: number
beforeEach(() => {
  most = 0
})

const headOf = (key: ResourceKey): ResourceVersion => ({
  ...{ ...key, versionId: 3, lastUpdated: 0, deleted: false, compartments: ['Patient/p'] },
  body: BODY,
})

/** Like the stores: the reading ends with the body that uses the room up. */
const heads: ResourceReader['heads'] = async (keys, room = Number.POSITIVE_INFINITY) => {
  const found = keys.slice(0, Math.max(1, Math.ceil(room / SIZE))).map(headOf)
  most = Math.max(most, found.length * SIZE)
  return found
}

function headsFor(count: number, interaction: string, access: Access = WHOLE_ACCESS, noOpUpdates: 'version' | 'ignore' = 'version') {
  const request = { interaction, access, reading: { baseUrl: 'http://x' } } as unknown as FhirRequest
  const targets = Array.from({ length: count }, (_, i) => ({ key: patientKeyOf(`p${i}`), request }))
  const choices = { noOpUpdates } as Parameters<typeof readTransactionHeads>[0]['choices']
  return readTransactionHeads({ heads, choices }, targets)
}

describe('Heads of 100 resources of 14 MB', () => {
  it.each(['update', 'delete', 'create'])('are held without their bodies for a transaction of %s entries', async (interaction) => {
    const found = await headsFor(100, interaction)
    expect(found).toEqual(Array.from({ length: 100 }, (_, i) => ({ ...headOf(patientKeyOf(`p${i}`)), body: new Uint8Array() })))
    expect(most).toBe(SIZE)
  })

  it.each([
    ['a patch depends on them', 'patch', WHOLE_ACCESS, 'version'],
    ['an update without change is ignored', 'update', WHOLE_ACCESS, 'ignore'],
    ['the access depends on the resource', 'delete', OF_PATIENT, 'version'],
  ] as const)('are rejected as too-costly if %s', async (_, interaction, access, noOpUpdates) => {
    await expect(headsFor(100, interaction, access, noOpUpdates)).rejects.toMatchObject({ status: 403, issues: [{ code: 'too-costly' }] })
    expect(most).toBe(SIZE)
    const few = await headsFor(3, interaction, access, noOpUpdates)
    expect(few.map((head) => head && 'body' in head && head.body.length)).toEqual([SIZE, SIZE, SIZE])
  })
})
