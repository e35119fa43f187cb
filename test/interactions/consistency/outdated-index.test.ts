/** What is asked of an index that another release made: conditional interactions are refused, searches are told, chains too. */
import { expect, it } from '@jest/globals'
import { CachedSearchContexts } from '../../../lambdas/indexing/cached-search-contexts.ts'
import { documentFormatOf } from '../../../lambdas/indexing/document-format.ts'
import { NO_STORED_STATE, type StoredState } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { responseEntry } from '../../../lambdas/interactions/bundle/entry.ts'
import {
  outdatedRejectingIndex,
  outdatedReportingIndex,
  outdatedWarningIndex,
} from '../../../lambdas/interactions/consistency/outdated-index.ts'
import type { FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import { and, type GroupPlan, type Plan } from '../../../lambdas/ports/search/plan.ts'
import type { OutdatedParameters, Searches } from '../../../lambdas/ports/search/search-index.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { memoryStoredState, servingStateOf } from '../../fixtures/memory-index-state.ts'

const ASKED = { tenant: 't', types: ['Patient'], where: and(), access: 'everything', order: [], limit: 1 } as const
const PLAN: Plan = { ...ASKED, total: 'none' }
const GROUPS: GroupPlan = { ...ASKED, field: 'gender:code', hits: 1 }
const NOTHING: Searches & OutdatedParameters = {
  explain: async () => [],
  outdated: async () => [],
  find: async () => ({ hits: [], more: false }),
  groups: async () => ({ groups: [], total: 0, more: false }),
  distinct: async () => [],
}
const outdated = async ({ types, field }: { readonly types: readonly string[]; readonly field?: string }) =>
  types.includes('Patient') ? [field ?? 'name'] : []

it('conditional interactions are rejected for every search of an outdated index', async () => {
  const index = outdatedRejectingIndex(NOTHING, { outdated })
  for (const look of [() => index.find(PLAN), () => index.groups(GROUPS), () => index.distinct(PLAN, 'name', 1)])
    await expect(look()).rejects.toThrow(fault('index-outdated'))
  expect(await index.find({ ...PLAN, types: ['Basic'] })).toEqual({ hits: [], more: false })
})

it('a search reports all outdated parameters, and none if nothing is outdated', async () => {
  const { index, headers } = outdatedWarningIndex(outdatedReportingIndex(NOTHING, { outdated }))
  await index.find({ ...PLAN, types: ['Basic'] })
  expect(headers()).toEqual({})
  await index.find(PLAN)
  await index.groups(GROUPS)
  await index.distinct(PLAN, 'birthdate', 1)
  expect(headers()).toEqual({ 'x-index-outdated': 'birthdate, gender:code, name' })
  const plain = outdatedWarningIndex(NOTHING)
  await plain.index.find(PLAN)
  expect(plain.headers()).toEqual({})
})

it('a search in a Bundle reports them in the outcome of its entry', () => {
  const entry = { index: 0, method: 'GET', url: 'Patient?name=a', headers: {} }
  const told = (headers: Readonly<Record<string, string>>) =>
    responseEntry({ status: 200, headers }, new Uint8Array(), entry, { preferences: {} } as FhirRequest).more
  expect(told({})).toEqual({ response: { status: '200 OK' } })
  expect(told({ 'x-index-outdated': 'birthdate, name' })).toMatchObject({
    response: {
      outcome: { issue: [{ severity: 'warning', code: 'incomplete', details: { text: expect.stringContaining('birthdate, name') } }] },
    },
  })
})

it('a type is outdated from a deployment until its rebuild, or with mixed document formats', async () => {
  const own = documentFormatOf({})
  const older = own.replace(/^\d+/, '8')
  const live = { identity: 'a', types: { Patient: 'a', Basic: 'a' }, lacking: [], former: [] }
  const changesOf = async (state: Partial<StoredState>) => {
    const known = new CachedSearchContexts(servingStateOf(memoryStoredState({ ...NO_STORED_STATE, live, ...state })), {})
    const changes = await known.changes(0)
    return ['Patient', 'Basic'].map((type) => changes(type) && (changes(type) === 'all' ? 'all' : 'some'))
  }
  expect(await changesOf({})).toEqual([undefined, undefined])
  expect(await changesOf({ extraction: own })).toEqual([undefined, undefined])
  expect(await changesOf({ extraction: older })).toEqual(['some', 'some'])
  expect(await changesOf({ extraction: own, behind: { Patient: { extraction: older, since: 1 } } })).toEqual(['some', undefined])
  expect(await changesOf({ extraction: own, behind: { Patient: { extraction: own, since: 1 } } })).toEqual(['all', undefined])
})
