/** Reads and writes that the index state of many tenants costs. */
import { expect, it } from '@jest/globals'
import { DynamoDbSharedRows } from '../../../lambdas/adapters/dynamodb/rows/shared-rows.ts'
import { DynamoDbSharedRowsReader } from '../../../lambdas/adapters/dynamodb/rows/shared-rows-reader.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { resourceTypes } from '../../../lambdas/fhir/resource-types.ts'
import { CachedSearchContexts } from '../../../lambdas/indexing/cached-search-contexts.ts'
import { applySearchParameter, clearUnindexable, recordUnindexable } from '../../../lambdas/indexing/lifecycle/definitions.ts'
import { changeFormat, recordFollowedVersions } from '../../../lambdas/indexing/lifecycle/index-retention.ts'
import { rebuildsOfAttempt, requestRebuild, takeRebuilds } from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { addIndices, withIdentity } from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import type { ServingSummary } from '../../../lambdas/indexing/lifecycle/serving-summary.ts'
import { changeByTenant, moveTenantParts, openIndexState } from '../../../lambdas/indexing/lifecycle/shared-index-state.ts'
import type { IndexState } from '../../../lambdas/indexing/lifecycle/state.ts'
import { statusOf } from '../../../lambdas/indexing/lifecycle/status.ts'
import { NO_STATE, NO_STORED_STATE, type StoredState } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { type KeyUse, observedClient } from '../../fixtures/dynamodb/capacity.ts'
import { countedTable } from '../../fixtures/dynamodb/counted-table.ts'
import { aboveBars, LIMITS } from '../../fixtures/dynamodb/key-load.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { servingStateOf } from '../../fixtures/memory-index-state.ts'
import { patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const TENANTS = caseCountOf(200, 10_000)
const OF_TENANT = 20
const BEFORE = '7 1 {"baseUrl":"https://fhir.example.org/r4","timeZone":"Europe/Berlin"}'
const AFTER = BEFORE.replace('7', '8')
const INITIAL: StoredState = { ...NO_STORED_STATE, rowsFrom: 0 }

/** Forty parameters that vendors define; each tenant has half of them. */
const versionsOf = (tenant: string, first: number) =>
  Array.from({ length: OF_TENANT }, (_, i) => {
    const code = `vendor-parameter-${(first + i) % 40}`
    const base = ['Patient', 'Observation', 'Encounter', 'Condition'][(first + i) % 4]!
    const type = base === 'Patient' ? '' : '.ofType(CodeableConcept)'
    const body = {
      ...{ resourceType: 'SearchParameter', id: code, url: `https://vendor.example.org/fhir/SearchParameter/${code}`, name: code },
      ...{ status: 'active', code, base: [base], type: 'token' },
      // Without a type the parameter has an entry for each of 50 types of values.
      expression: `${base}.extension.where(url = 'https://vendor.example.org/fhir/StructureDefinition/${code}').value${type}`,
    }
    return versionOf(writeOf(resourceKeyOf(tenant, 'SearchParameter', code), { body }))
  })

/** Returns a change that defines the parameters of the tenant. Parsing is not repeated, because it takes most of the time. */
const defining = (tenant: string, first: number) => {
  const of = first % 40
  TEMPLATES[of] ??= versionsOf('template', of).reduce(applySearchParameter, NO_STATE)
  const template = TEMPLATES[of]
  const definitions = template.definitions.map((each) => ({ ...each, tenant, mapping: { ...each.mapping, tenant } }))
  const rebuilds = template.rebuilds.map((each) => ({ ...each, tenant }))
  return (state: IndexState): IndexState => ({
    ...state,
    definitions: [...state.definitions, ...definitions],
    rebuilds: [...state.rebuilds, ...rebuilds],
  })
}
const TEMPLATES: IndexState[] = []

function opened() {
  const uses: KeyUse[] = []
  const dynamo = new TableClient(
    observedClient(countedTable(), (use) => uses.push(use)),
    'state',
    LIMITS,
  )
  const contexts = () =>
    new CachedSearchContexts(servingStateOf(new DynamoDbSharedRowsReader<StoredState, ServingSummary>(dynamo, 'DEFINITIONS', INITIAL)), {})
  const state = () => openIndexState(new DynamoDbSharedRows<StoredState, ServingSummary>(dynamo, 'DEFINITIONS', INITIAL), () => 1)
  return {
    ...{ contexts, state },
    /** Returns the uses since the last call. */
    taken: () => uses.splice(0),
  }
}

const readsOf = (uses: readonly KeyUse[]): readonly number[] => uses.flatMap(({ kind, units }) => (kind === 'read' ? [units] : []))
const unitsOf = (uses: readonly KeyUse[]): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>()
  for (const { kind, of, key, units } of uses) sums.set(`${kind} ${of} ${key}`, (sums.get(`${kind} ${of} ${key}`) ?? 0) + units)
  return sums
}

it('One tenant costs one read of one unit, also right after an upgrade of all types', async () => {
  const { state, contexts, taken } = opened()
  await state().change((each) => addIndices(withIdentity({ ...each, extraction: BEFORE }, 'a1b2c3d4e5f6'), resourceTypes, 'a1b2c3d4e5f6'))
  await state().change((each) => versionsOf('default', 0).slice(0, 5).reduce(applySearchParameter, each))
  for (const types of [[], resourceTypes]) {
    if (types.length > 0) await state().change((each) => changeFormat(each, AFTER, 1))
    taken()
    await contexts().of('default', 0)
    expect(taken()).toEqual([{ kind: 'read', of: 'table', key: 'DEFINITIONS', units: 1 }])
  }
})

it('With 20 parameters of each tenant no read takes more than 4 units, nor while all types of all tenants are rebuilt', async () => {
  const { state, contexts, taken } = opened()
  const mostOf = (uses: readonly KeyUse[]) => Math.max(...readsOf(uses))
  const tenants = Array.from({ length: TENANTS }, (_, i) => `tenant-${i}`)
  const indexer = state()
  await indexer.change((each) => addIndices(withIdentity({ ...each, extraction: BEFORE }, 'a1b2c3d4e5f6'), resourceTypes, 'a1b2c3d4e5f6'))
  let most = 0
  for (const [i, tenant] of tenants.entries()) {
    await indexer.change(defining(tenant, i), { definitions: [tenant], poisoned: [tenant] })
    most = Math.max(most, mostOf(taken()))
  }
  await moveTenantParts(indexer)
  expect(Math.max(most, mostOf(taken()))).toBeLessThanOrEqual(4)

  // Every function reads one unit, and one row for a tenant that is new to it. The rows are spread among keys.
  for (const [i, tenant] of tenants.entries()) {
    const context = await contexts().of(tenant, 0)
    if (i === 0) expect(context.custom ?? []).toEqual([])
  }
  const reads = taken()
  expect([readsOf(reads).length, mostOf(reads)]).toEqual([2 * TENANTS, 1])
  expect(aboveBars(unitsOf(reads.filter(({ key }) => key !== 'DEFINITIONS')))).toEqual([])

  // A batch of the stream with versions of 100 tenants reads each row once, and then none that has not changed.
  const some = tenants.slice(0, 100)
  const follow = () =>
    changeByTenant(
      indexer,
      some.map((tenant) => versionOf(writeOf(patientKeyOf('p', tenant)))),
      (each, versions) => versions.reduce(clearUnindexable, recordFollowedVersions(each, versions, BEFORE)),
      ['definitions', 'poisoned'],
    )
  const { definitions } = (await follow()).value
  expect(some.map((tenant) => definitions.filter((each) => each.tenant === tenant).length)).toEqual(some.map(() => OF_TENANT))
  taken()
  await follow()
  expect([...unitsOf(taken()).keys()]).toEqual(['read table DEFINITIONS'])
  await indexer.change((each) => recordUnindexable(each, { ...patientKeyOf('p', some[7]!), versionId: 1 }, 'TypeError'))
  const { number } = await follow()
  expect((await indexer.read({ poisoned: [some[7]!] })).value.poisoned).toEqual([])

  // A new document format, and every tenant requests all types. An attempt takes them all, and writes the root only.
  await indexer.change((each) => changeFormat(each, AFTER, 2))
  for (const tenant of tenants) await indexer.change((each) => requestRebuild(each, tenant, resourceTypes), { rebuilds: [tenant] })
  expect(mostOf(taken())).toBeLessThanOrEqual(4)
  const { value } = await indexer.change((each) => takeRebuilds(each, { execution: 'rebuild-1', width: 2, steps: 10 }, 3), {
    rebuilds: 'all',
  })
  expect(rebuildsOfAttempt(value, 'rebuild-1~3~0')).toHaveLength((TENANTS + 1) * resourceTypes.length)
  const uses = taken()
  expect(mostOf(uses)).toBeLessThanOrEqual(4)
  expect(uses.filter(({ kind }) => kind === 'write').map(({ key }) => key)).toEqual(['DEFINITIONS'])
  const { value: one } = await indexer.read({ definitions: [tenants[3]!], rebuilds: [tenants[3]!] })
  expect(rebuildsOfAttempt(one, 'rebuild-1~3~0')).toHaveLength(2 * resourceTypes.length)
  expect(statusOf(one, tenants[3]!).definitions).toHaveLength(OF_TENANT)
  expect(number).toBeLessThan((await indexer.read()).number)
  await contexts().of(tenants[0]!, 0)
  expect(mostOf(taken())).toBeLessThanOrEqual(4)
})
