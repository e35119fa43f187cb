/** Two releases on one OpenSearch, up and down during writes: an answer that is not marked as outdated is complete. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { InProcessWorkflow } from '../../../lambdas/adapters/in-process/workflow.ts'
import type { OpenSearchIndex } from '../../../lambdas/adapters/opensearch/search-index.ts'
import type { RebuildStepInput } from '../../../lambdas/indexing/rebuild/rebuild-steps.ts'
import { rebuildWorkflow } from '../../../lambdas/indexing/rebuild/workflow.ts'
import { and, type Plan, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import { createTestIndex, indexRegisterOf, runOnOpenSearch, TEST_OPTIONS, type TestIndex } from '../../engines/opensearch-index.ts'
import { NEXT_RELEASE_CHANGES, type Release, releaseOf } from '../../engines/releases.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { createRebuildWorld, type RebuildWorld, STEP_FUNCTION_ARN, TENANT } from '../../indexing/rebuilt-world.ts'

runOnOpenSearch('Two releases on OpenSearch', (endpoint) => {
  const folder = mkdtempSync(join(tmpdir(), 'fhir-releases-'))
  let releases: readonly [now: Release, next: Release]
  let open: TestIndex
  let store: RebuildWorld
  let runs: Release
  const indices = new Map<Release, OpenSearchIndex>()

  beforeAll(async () => {
    releases = [await releaseOf(folder, 'now', []), await releaseOf(folder, 'next', NEXT_RELEASE_CHANGES)]
    open = createTestIndex(endpoint)
    const known = indexRegisterOf(open.state)
    await known.live()
    const options = { prefix: open.prefix, ...known, ...TEST_OPTIONS, knownFor: 0 } as const
    for (const release of releases) indices.set(release, new release.OpenSearchIndex(open.client, options))
    runs = releases[0]
    store = await createRebuildWorld(1, 0)
    await migrate()
    store.deliver = async (version) => {
      await open.state.change((state) => runs.recordFollowedVersions(state, [version], runs.documentFormatOf({})))
      const parts = { index: indices.get(runs)!, reading: () => ({}), expressions: EXPRESSIONS, onPoison: failed }
      expect(await runs.indexStream([{ sequence: '1', version }], parts)).toEqual([])
    }
    for (let i = 0; i < 12; i++) await store.write(`p${i}`, `Old${i}`)
  })
  afterAll(async () => {
    await open.close()
    rmSync(folder, { recursive: true })
  })

  const failed = (_: unknown, error: unknown) => {
    throw error
  }
  const migrate = () => open.state.change((state) => runs.changeFormat(state, runs.documentFormatOf({}), store.now + 1))
  const deploy = async (release: Release) => {
    runs = release
    await migrate()
    // Of all types, only the one that has resources.
    await open.state.change((state) => ({ ...state, rebuilds: state.rebuilds.filter(({ type }) => type === 'Patient') }))
  }
  /** `during` runs after each step until the index is built. */
  const rebuild = async (execution: string, during: () => Promise<void>): Promise<readonly string[]> => {
    const made: string[] = []
    const failures: unknown[] = []
    const step = (input: RebuildStepInput) => {
      const parts = { ...store.parts(), state: open.state, index: indices.get(runs)!, extraction: runs.documentFormatOf({}) }
      return runs.rebuildStep(parts)(input)
    }
    // Two writers run at once. A check compares the index with the store, so no other writer may write meanwhile.
    let turn: Promise<void> = Promise.resolve()
    const inTurn = (): Promise<void> => {
      turn = turn.catch(() => undefined).then(during)
      return turn
    }
    const workflow = new InProcessWorkflow({
      definition: rebuildWorkflow(STEP_FUNCTION_ARN),
      step: async (input: RebuildStepInput) => {
        made.push(input.action)
        const result = await step(input)
        await inTurn()
        return result
      },
      writers: 2,
      report: (error) => failures.push(error),
      pause: async () => undefined,
    })
    await workflow.start(execution, {})
    await workflow.idle()
    expect(failures).toEqual([])
    return made
  }
  const planOf = (family: string): Plan => {
    const { where } = runs.parseSearch('Patient', family === '' ? [] : [['family', family]], { now: 0 })
    const asked = { tenant: TENANT, types: ['Patient'], where: and(...(where as readonly Predicate[])), access: 'everything' } as const
    return { ...asked, order: [], limit: 1_000, total: 'accurate' }
  }
  const found = async (family: string) => {
    const plan = planOf(family)
    const { value } = await open.state.read()
    const isOutdated =
      runs.findOutdatedParameters(plan, (type) => runs.formatChangesOf(value, type, runs.documentFormatOf({})), {}).length > 0
    const { hits } = await indices.get(runs)!.find(plan)
    return { isOutdated, ids: hits.map(({ id, version }) => `${id} ${version}`) }
  }
  const stored = (family: string) =>
    [...store.heads.values()]
      .filter(({ deleted, body }) => !deleted && new TextDecoder().decode(body).includes(`"${family}`))
      .map(({ id, versionId }) => `${id} ${versionId}`)
      .toSorted()
  /** An answer not marked as outdated is complete. A search without criteria always is. */
  const expectAnswers = async (): Promise<boolean> => {
    for (const family of ['Old', 'Later']) {
      const { isOutdated, ids } = await found(family)
      if (!isOutdated) expect(ids).toEqual(stored(family))
    }
    const { isOutdated, ids } = await found('')
    expect([isOutdated, ids]).toEqual([false, stored('')])
    return (await found('Old')).isOutdated
  }
  let writes = 0
  const goOn = async () => {
    const n = writes++
    await store.write(`p${n % 12}`, `Later${n}`)
    if (n % 3 === 0) await store.write(`new${n}`, 'Old')
    if (n % 4 === 0) await store.delete(`p${(n + 5) % 12}`).catch(() => undefined)
  }

  it('switch up and down during writes: a retained index is restored, no result is missing', async () => {
    const [now, next] = releases
    const live = async () => (await open.state.read()).value.types.Patient?.previous?.index.match(/v\d+/)?.[0]
    expect(await expectAnswers()).toBe(false)
    const rounds = [
      { to: next, kept: 'v1' },
      { to: now, kept: 'v2' },
      { to: next, kept: 'v1' },
    ]
    for (const [i, { to, kept }] of rounds.entries()) {
      await goOn()
      await deploy(to)
      await goOn()
      expect(await expectAnswers()).toBe(true)
      const seen: boolean[] = []
      await rebuild(`run-${i}`, async () => {
        await goOn()
        seen.push(await expectAnswers())
      })
      expect([seen.includes(true), await expectAnswers(), await live()]).toEqual([true, false, kept])
    }
    // Abandoned before the switch: later writes are indexed again in place.
    await deploy(now)
    await goOn()
    await deploy(next)
    await rebuild('given-up', goOn)
    expect([await expectAnswers(), await live()]).toEqual([false, 'v1'])
  }, 240_000)
})
