/** Search parameters of packages on AWS: the sweep of every minute registers them in the index state, and a rebuild builds them. */
import { beforeAll, expect, it } from '@jest/globals'
import { openS3Packages } from '../../lambdas/adapters/s3/open-blob-store.ts'
import { finishRebuild } from '../../lambdas/indexing/custom-definitions.ts'
import { type IndexState, withDefinitions } from '../../lambdas/indexing/lifecycle/state.ts'
import { addManifest } from '../../lambdas/packages/manifest.ts'
import { searchParameterFilesOf } from '../../lambdas/packages/package-search-parameters.ts'
import { settleTransactions } from '../../lambdas/runtime/aws/index-workers.ts'
import { migrate } from '../../lambdas/runtime/aws/migration.ts'
import { clock, indexState, searchContexts } from '../../lambdas/runtime/aws/ports.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { runOnDynamo } from '../fixtures/dynamodb/on-dynamo.ts'
import { guideOf } from '../fixtures/payer/guides.ts'
import { createMemoryBucket } from '../fixtures/s3.ts'
import { serveBucket } from '../fixtures/s3-server.ts'
import { startWorkflowServer } from '../fixtures/workflows.ts'

const LABEL = { name: 'hl7.fhir.us.carin-bb', version: '2.2.0' }
const FILES = addManifest(
  LABEL,
  new Map(searchParameterFilesOf(guideOf('carin-bb@2.2.0').resources.filter(({ resourceType }) => resourceType === 'SearchParameter'))),
)
const CODES = ['billable-period-start', 'insurer', 'service-date', 'service-start-date', 'type']

await runOnDynamo((engine) => {
  runAtEnd(() => engine.stop())

  const bucket = createMemoryBucket(() => Date.now())
  let started: readonly string[]
  let now = Date.UTC(2026, 0, 2)
  beforeAll(async () => {
    const machines = await startWorkflowServer()
    started = machines.started
    Object.assign(process.env, {
      ...{ FHIR_TABLE: await engine.newTable(), FHIR_STATE_TABLE: await engine.newTable(), FHIR_BUCKET: 'packages' },
      FHIR_REBUILD_WORKFLOW: 'arn:aws:states:us-east-1:0:stateMachine:r',
      ...{ AWS_ENDPOINT_URL_S3: await serveBucket(bucket.client), AWS_ENDPOINT_URL_SFN: machines.endpoint },
      ...{ AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint },
      ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    })
    clock().now = () => now
  })

  /** Runs the sweep, once the cached lists of packages are outdated. */
  const sweep = async () => {
    now += 60_000
    await settleTransactions({ sweep: 'transactions' })
  }
  const state = async (): Promise<IndexState> => (await indexState().read({ definitions: 'all', rebuilds: 'all' })).value
  const statesOf = ({ definitions }: IndexState) =>
    definitions.map(({ mapping, state }) => `${mapping.base} ${mapping.code} ${state}`).toSorted()
  const searchedBy = async (tenant: string) => {
    now += 60_000
    return (await searchContexts().of(tenant, now)).custom?.map(({ code }) => code).toSorted()
  }
  const packages = () => openS3Packages({ bucket: 'packages', now: () => now })
  const finish = () =>
    indexState().change((each) => withDefinitions(each, (definitions) => finishRebuild(definitions, each.rebuilds[0]!)), {
      rebuilds: 'all',
    })

  it('are built for all tenants, once the deployment has replaced all functions', async () => {
    await migrate({})
    await packages().add(LABEL, FILES)
    await sweep()
    expect((await state()).definitions).toEqual([])
    await migrate({ UpdatedFunctions: 'yes' })
    await sweep()
    expect(statesOf(await state())).toEqual(CODES.map((code) => `ExplanationOfBenefit ${code} building`))
    expect((await state()).rebuilds).toEqual([{ tenant: '', type: 'ExplanationOfBenefit', done: 0, total: -1, forPackages: true }])
    expect(started).toEqual([expect.stringMatching(/^rebuild-/)])
    expect(await searchedBy('a')).toBeUndefined()
    await finish()
    expect([await searchedBy('a'), await searchedBy('b'), await searchedBy('')]).toEqual([CODES, CODES, CODES])
  })

  it('stay as they are while the list of packages is the same', async () => {
    const before = await indexState().read()
    await sweep()
    expect((await indexState().read()).number).toBe(before.number)
  })

  it('are built again after an earlier release, which does not know them', async () => {
    await migrate({}, { Deployed: 'earlier', IndexRows: 'yes' })
    expect((await state()).definitions).toEqual([])
    await sweep()
    expect((await state()).definitions).toEqual([])
    await migrate({ UpdatedFunctions: 'yes' })
    await sweep()
    expect(statesOf(await state())).toEqual(CODES.map((code) => `ExplanationOfBenefit ${code} building`))
    await finish()
    await migrate({}, { Deployed: 'this one', IndexRows: 'yes', PackageParameters: 'yes' })
    expect(statesOf(await state())).toEqual(CODES.map((code) => `ExplanationOfBenefit ${code} active`))
  })

  it('end with their package, also while they are built', async () => {
    await packages().remove(LABEL)
    await sweep()
    expect([(await state()).definitions, await searchedBy('a')]).toEqual([[], undefined])
    await packages().add(LABEL, FILES)
    await sweep()
    expect((await state()).rebuilds.length).toBe(1)
    await packages().remove(LABEL)
    await sweep()
    expect([(await state()).definitions, (await state()).rebuilds]).toEqual([[], []])
  })
})
