/** The migration that runs once in every deployment, on an emulator. */

import { beforeAll, expect, it } from '@jest/globals'
import { DynamoDbSharedState } from '../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { NO_ADOPTED_STORE } from '../../lambdas/auth/tokens/restored-state.ts'
import { resourceTypes } from '../../lambdas/fhir/resource-types.ts'
import { applySearchParameter } from '../../lambdas/indexing/lifecycle/definitions.ts'
import { moveTenantParts } from '../../lambdas/indexing/lifecycle/shared-index-state.ts'
import { NO_IDENTITY } from '../../lambdas/indexing/lifecycle/state.ts'
import { NO_STORED_STATE, type StoredState } from '../../lambdas/indexing/lifecycle/stored-state.ts'
import { ALL_TOKENS } from '../../lambdas/ports/rows/revocations.ts'
import { revocations } from '../../lambdas/runtime/aws/authorization.ts'
import { DeploymentError, type ResourceProperties } from '../../lambdas/runtime/aws/custom-resource.ts'
import { migrate } from '../../lambdas/runtime/aws/migration.ts'
import { clock, indexState, stateTable, store } from '../../lambdas/runtime/aws/ports.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { runOnDynamo } from '../fixtures/dynamodb/on-dynamo.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'
import { startWorkflowServer } from '../fixtures/workflows.ts'

const ended = async () => (await revocations().revoked([ALL_TOKENS])).get(ALL_TOKENS)

await runOnDynamo((engine) => {
  runAtEnd(() => engine.stop())

  beforeAll(async () => {
    const { endpoint } = await startWorkflowServer()
    Object.assign(process.env, {
      ...{ FHIR_TABLE: await engine.newTable(), FHIR_STATE_TABLE: await engine.newTable(), FHIR_EPOCH: '3' },
      ...{ FHIR_SEARCH_SHARDS: 'Patient=3,Observation=12' },
      ...{ FHIR_REBUILD_WORKFLOW: 'arn:aws:states:us-east-1:0:stateMachine:r', FHIR_RESTORED_AT: '2026-01-01T00:00:00Z' },
      ...{ AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint, AWS_ENDPOINT_URL_SFN: endpoint },
      ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    })
  })
  const known = (epoch: number) =>
    indexState().change((state) => ({ ...state, identity: state.identity === NO_IDENTITY ? 'i' : state.identity, epoch }))
  const DEPLOYED = Date.UTC(2026, 0, 2)

  it('revokes all tokens of an adopted state table once, and again when it returns', async () => {
    await known(2)
    let now = DEPLOYED
    clock().now = () => now
    await migrate({ AdoptedState: 'yes' })
    expect(await ended()).toBe(now)
    now += 1_000
    await migrate({ AdoptedState: 'yes' })
    await known(2)
    await migrate({ AdoptedState: 'yes' })
    expect(await ended()).toBe(now - 1_000)
    await known(1)
    await migrate({ AdoptedState: 'yes' })
    expect(await ended()).toBe(now)
    expect((await indexState().read()).value.epoch).toBe(3)
  })

  it('requests a new index of each type with another number of shards', async () => {
    await known(2)
    await indexState().change(({ shards: _, ...state }) => ({ ...state, rebuilds: [], types: { Patient: { identity: 'i' } } }))
    await migrate({})
    const { rebuilds, shards } = (await indexState().read()).value
    expect([rebuilds.map(({ type, tenant }) => [type, tenant]), shards]).toEqual([[['Patient', '']], { Patient: 3, Observation: 12 }])
  })

  it('lets parts of tenants move to rows a quarter of an hour after all functions are updated', async () => {
    await known(3)
    const rowsFrom = async () => (await indexState().read()).value.rowsFrom
    clock().now = () => DEPLOYED
    await migrate({ UpdatedFunctions: 'yes' })
    expect(await rowsFrom()).toBe(DEPLOYED + 15 * 60_000)
    await migrate({})
    expect(await rowsFrom()).toBeUndefined()
  })

  it('rejects a past restore generation with the reason, and revokes nothing', async () => {
    await known(4)
    await new DynamoDbSharedState(stateTable(), 'ADOPTED', NO_ADOPTED_STORE).change(() => NO_ADOPTED_STORE)
    const before = await ended()
    clock().now = () => (before ?? DEPLOYED) + 1_000
    const failing = migrate({ AdoptedState: 'yes' })
    await expect(failing).rejects.toBeInstanceOf(DeploymentError)
    await expect(failing).rejects.toThrow('epoch 3 is over: the index is of 4, each restore has one more')
    expect(await ended()).toBe(before)
  })

  it('applies the SearchParameters again that a release without rows may have missed, and rebuilds all types', async () => {
    await known(3)
    const rebuilds = { tenant: 'deleted', type: 'Patient', done: 0, total: -1 }
    const parameter = (tenant: string, code: string) => {
      const body = { resourceType: 'SearchParameter', id: code, url: `http://example.org/${code}`, name: code, status: 'active', code }
      return writeOf(resourceKeyOf(tenant, 'SearchParameter', code), {
        ...{ lastUpdated: clock().now(), body: { ...body, base: ['Patient'], type: 'token', expression: 'Patient.gender' } },
      })
    }
    await indexState().change(
      (state) => ({ ...applySearchParameter(state, versionOf(parameter('deleted', 'old'))), rows: true, rebuilds: [rebuilds] }),
      {
        ...{ definitions: ['deleted'], poisoned: ['deleted'] },
      },
    )
    await store().commit([parameter('there', 'new')], [])
    const now = clock().now()
    clock().now = () => now + 60_000
    const earlier = new DynamoDbSharedState<StoredState>(stateTable(), 'DEFINITIONS', NO_STORED_STATE)
    await earlier.change((stored) => ({ ...stored, rebuilds: [] }))
    // The indexer is updated before the migration.
    await moveTenantParts(indexState())
    await migrate({ AdoptedState: 'no' })
    const { value } = await indexState().read({ definitions: 'all', rebuilds: 'all' })
    expect(value.definitions.map(({ tenant, id }) => `${tenant} ${id}`)).toEqual(['there new'])
    expect(value.rebuilds.filter(({ tenant }) => tenant === '')).toHaveLength(resourceTypes.length)
    expect(value.redefine).toBeUndefined()
    await indexState().change((state) => ({ ...state, rebuilds: [] }), { rebuilds: 'all' })
    await migrate({ AdoptedState: 'no' })
    expect((await indexState().read({ rebuilds: 'all' })).value.rebuilds).toEqual([])
  })

  it('rebuilds all types after the deployment of a release without rows, also if that changed no state', async () => {
    await known(3)
    const current = { Deployed: 'two', IndexRows: 'yes' }
    const rebuilds = async () => (await indexState().read({ rebuilds: 'all' })).value.rebuilds.length
    const migrateAfter = async (before: ResourceProperties) => {
      await indexState().change((state) => ({ ...state, rebuilds: [] }), { rebuilds: 'all' })
      await migrate(current, before)
      return rebuilds()
    }
    const earlier = new DynamoDbSharedState<StoredState>(stateTable(), 'DEFINITIONS', NO_STORED_STATE)
    await earlier.change(({ rows: _, ...stored }) => stored)
    expect(await migrateAfter({ Deployed: 'one' })).toBe(0)
    await indexState().change((state) => ({ ...state, rows: true }))
    expect(await migrateAfter({ Deployed: 'one', IndexRows: 'yes' })).toBe(0)
    expect(await migrateAfter({ Deployed: 'one' })).toBe(resourceTypes.length)
    expect((await indexState().read()).value.redefine).toBeUndefined()
  })
})
