/**
 * Exports of the deployed stage: the bundled functions, the deployed state machine, the bucket, and links that the distribution checks. The first
 * suite runs the writers in this process and kills some of them. The second suite runs everything on the stand-in.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { clientOf, type Tree } from '../api/server.ts'
import { patient } from '../fixtures/resources.ts'
import { tokenProviderOf } from '../fixtures/token-provider.ts'
import { LAKE_SCHEDULE } from './assembly.ts'
import type { AwsCalls } from './aws-calls.ts'
import type { DeploymentDescription } from './cloud.ts'
import { invokeCustomResource, resultOf } from './custom-resource.ts'
import {
  type FinishedExport,
  jobIdOf,
  kickOff,
  linesOf,
  ownFunctions,
  pollManifest,
  runExportWorkflow,
  runScheduledExport,
  versionsOf,
} from './exports.ts'
import type { FunctionHost } from './function-host.ts'
import { register, registryOf } from './registry.ts'
import { runOnCloud } from './requested-deployment.ts'

const OPEN_TO_SECRETS = { FHIR_EXPORT_NEEDS_ASSERTION: 'off' }
const [PATIENTS, EACH] = [20, 2]

const IN_GROUP = 5

const NAMED: Tree = {
  resourceType: 'Parameters',
  parameter: [
    { name: '_type', valueString: 'Patient,Observation' },
    ...['a-0', 'a-3'].map((id) => ({ name: 'patient', valueReference: { reference: `Patient/${id}` } })),
  ],
}

const observation = (id: string, subject: string): Tree => ({
  ...{ resourceType: 'Observation', id, status: 'final', code: { text: 'weight' }, subject: { reference: subject } },
  performer: [{ reference: 'Organization/performer' }],
})

/** Returns patients with observations, an Organization that they reference, an unreferenced one, and a Group of the first patients. */
function someData(mark: string): readonly Tree[] {
  const ids = Array.from({ length: PATIENTS }, (_, i) => `${mark}-${i}`)
  return [
    { resourceType: 'Organization', id: 'performer', name: 'Laboratory' },
    { resourceType: 'Organization', id: 'nobodys', name: 'Elsewhere' },
    ...ids.map((id) => patient(id)),
    ...ids.flatMap((id) => Array.from({ length: EACH }, (_, n) => observation(`${id}-${n}`, `Patient/${id}`))),
    {
      ...{ resourceType: 'Group', id: mark, type: 'person', actual: true },
      member: ids.slice(0, IN_GROUP).map((id) => ({ entity: { reference: `Patient/${id}` } })),
    },
  ]
}

const practitioner = (id: string): Tree => ({ resourceType: 'Practitioner', id, active: true })

const transactionOf = (resources: readonly Tree[]): Tree => ({
  resourceType: 'Bundle',
  type: 'transaction',
  entry: resources.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } })),
})

runOnCloud('an export of the deployed stage', { settings: OPEN_TO_SECRETS, here: true }, (cloud, client) => {
  const { get, put, post, delete: remove } = client
  let [aws, host, machine]: [AwsCalls, FunctionHost, string] = [] as never
  let [ofAll, ofPatients, ofGroup, ofNamed]: [FinishedExport, FinishedExport, FinishedExport, FinishedExport] = [] as never

  const work = (path: string, writers = host) => runExportWorkflow(aws, machine, writers, { job: jobIdOf(path), attempt: 1 })
  async function exported(path: string, parameters?: Tree): Promise<FinishedExport> {
    const job = await kickOff(client, path, parameters)
    await work(job)
    return pollManifest(client, job)
  }

  beforeAll(async () => {
    const own = await ownFunctions(cloud())
    ;[aws, host, machine] = [own.aws, own.host, own.functions.export!.environment.FHIR_EXPORT_WORKFLOW!]
    expect((await post('/', transactionOf(someData('a')))).status).toBe(200)
    // Each export waits until earlier writes have settled. Together they wait once.
    ;[ofAll, ofPatients, ofGroup, ofNamed] = await Promise.all([
      exported('/$export'),
      exported('/Patient/$export?_type=Patient,Observation'),
      exported('/Group/a/$export?_type=Patient,Observation'),
      exported('/Patient/$export', NAMED),
    ])
  })
  afterAll(() => host?.close())

  it('contains each resource of the system once, with links valid for a week', async () => {
    const { manifest, answer } = ofAll
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect([manifest.requiresAccessToken, manifest.error]).toEqual([false, []])
    expect(manifest.output.map(({ type }: Tree) => type).sort()).toEqual(['Group', 'Observation', 'Organization', 'Patient'])
    const written = someData('a').map((each) => ({ ...each, meta: { versionId: '1' } }))
    expect(versionsOf(await linesOf(manifest.output))).toEqual(versionsOf(written))
    const lasts = Number(new URL(manifest.output[0].url).searchParams.get('Expires')) - Date.parse(answer.headers.get('date') ?? '') / 1_000
    expect(Math.abs(lasts - 604_800)).toBeLessThan(60)
  })

  it('contains the data of all patients, or of the patients of a group', async () => {
    const countsOf = async ({ manifest }: FinishedExport) => {
      const lines = await linesOf(manifest.output)
      return ['Patient', 'Observation'].map((type) => lines.filter(({ resourceType }) => resourceType === type).length)
    }
    expect(await countsOf(ofPatients)).toEqual([PATIENTS, PATIENTS * EACH])
    expect(await countsOf(ofGroup)).toEqual([IN_GROUP, IN_GROUP * EACH])
  })

  it('contains the data of the named patients only', async () => {
    const lines = await linesOf(ofNamed.manifest.output)
    const patients = lines.filter(({ resourceType }) => resourceType === 'Patient').map(({ id }) => id)
    expect(patients.sort()).toEqual(['a-0', 'a-3'])
    expect(lines).toHaveLength(2 * (1 + EACH))
  })

  describe('with a link to a file', () => {
    const linkTo = (type: string): string => ofAll.manifest.output.find((file: Tree) => file.type === type).url
    const status = async (link: string, init: RequestInit = {}) => {
      const response = await fetch(link, init)
      await response.arrayBuffer()
      return response.status
    }

    it('opens the file in whole and in part, and rejects every other request', async () => {
      const url = linkTo('Patient')
      expect(await status(url)).toBe(200)
      expect(await status(url, { headers: { range: 'bytes=0-9' } })).toBe(206)
      expect(await status(url, { method: 'DELETE' })).toBe(403)
      expect(await status(url.split('?', 1)[0]!)).toBe(403)
      for (const [from, to] of [
        [/Expires=\d/, 'Expires=9'],
        [/Signature=./, 'Signature=!'],
        [/client=\w+/, 'client=other'],
        [/Patient\.ndjson/, 'Observation.ndjson'],
      ] as const)
        expect([String(from), await status(url.replace(from, to))]).toEqual([String(from), 403])
    })

    it('opens it for its own client only, like the status of the job', async () => {
      const { awsEndpoint, deployment, administrator } = cloud()
      const registry = registryOf(awsEndpoint, deployment)
      const other = await register(registry, { id: 'other', scopes: ['system/*.rs'] })
      registry.close()
      const base = process.env.FHIR_BASE_URL!
      const bearing = async (who: typeof other) => ({ headers: { authorization: `Bearer ${await tokenProviderOf(base, who)()}` } })
      const url = linkTo('Patient')
      expect(await status(url, await bearing(administrator!))).toBe(200)
      expect(await status(url, await bearing(other))).toBe(403)
      const asOther = clientOf(() => base, tokenProviderOf(base, other))
      const job = `/export/${/exports\/([^/]+)\//.exec(url)![1]}`
      expect([(await asOther.get(job)).status, (await asOther.delete(job)).status, (await get(job)).status]).toEqual([403, 403, 200])
    })

    it('signs it with the key that CloudFront trusts', async () => {
      const { functions } = await ownFunctions(cloud())
      const KeyId = functions['export-status']!.environment.FHIR_LINK_KEY!
      const { Pem } = await invokeCustomResource((event) => host.invoke('link-key', event), 'Create', { KeyId })
      const { PublicKey } = await aws.json('kms', 'TrentService.GetPublicKey', { KeyId })
      expect(Pem.replace(/-----[\w ]+-----|\n/g, '')).toBe(PublicKey)
    })
  })

  describe('while other exports run', () => {
    /** Each waits at least 15 seconds and is independent of the others, so all start at once. */
    const journeys: Readonly<Record<string, () => Promise<void>>> = {
      'tells what was deleted since the one before, and what is new': async () => {
        const since = encodeURIComponent(ofAll.manifest.transactionTime)
        const { manifest } = await exported(`/$export?_type=Patient&_since=${since}`)
        expect(versionsOf(await linesOf(manifest.output))).toEqual(['Patient/a-8/2'])
        const [deletions] = await linesOf(manifest.deleted)
        expect(deletions!.entry.map(({ request }: Tree) => [request.method, request.url])).toEqual([['DELETE', 'Patient/a-9']])
      },

      'on a schedule with a bucket is copied there whole, and the next goes on from it': async () => {
        const { name, bucket } = LAKE_SCHEDULE
        await aws.send('s3', 'PUT', `/${bucket}`)
        const keys = async () =>
          [...(await aws.send('s3', 'GET', `/${bucket}?list-type=2`)).matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key!)
        const copied = async (key: string) => aws.send('s3', 'GET', `/${bucket}/${key}`)
        const times = [0, 1].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString())
        const first = await pollManifest(client, await runScheduledExport(aws, host, machine, times[0]!))
        const folder = `default/${name}/${first.manifest.transactionTime.replaceAll(/[-:]/g, '')}/`
        expect(await keys()).toEqual([`${folder}Patient.ndjson`, `${folder}manifest.json`])
        const manifest: Tree = JSON.parse(await copied(`${folder}manifest.json`))
        expect(manifest).toEqual({ ...first.manifest, output: [{ ...first.manifest.output[0], url: `${folder}Patient.ndjson` }] })
        expect(await copied(manifest.output[0].url)).toBe(await (await fetch(first.manifest.output[0].url)).text())
        // That export would contain the following write, too.
        await under.get('tells what was deleted since the one before, and what is new')
        expect((await put('/Patient/a-7', patient('a-7', { active: true }))).status).toBe(200)
        const { manifest: second } = await pollManifest(client, await runScheduledExport(aws, host, machine, times[1]!))
        expect(new URL(second.request).searchParams.get('_since')).toBe(manifest.transactionTime)
        const later = (await keys()).filter((key) => !key.startsWith(folder))
        expect([later.length, await copied(later[0]!)]).toEqual([2, await (await fetch(second.output[0].url)).text()])
        expect(versionsOf(await linesOf(second.output))).toEqual(['Patient/a-7/2'])
      },

      'that is cancelled is no more: no poll, no file, and its writers end': async () => {
        const job = await kickOff(client, '/$export?_type=Patient')
        const working = work(job)
        await wait(500)
        expect((await remove(job)).status).toBe(202)
        expect((await get(job)).status).toBe(404)
        await working
        resultOf(await host.invoke('export-sweep', { sweep: 'expired' }))
        const left = await aws.send('s3', 'GET', `/${await bucketOf(cloud())}?list-type=2&prefix=exports/${jobIdOf(job)}/`)
        expect(left).not.toContain('<Key>')
        const { url } = ofGroup.manifest.output[0]
        expect((await remove(`/export/${/exports\/([^/]+)\//.exec(url)![1]}`)).status).toBe(202)
        expect((await fetch(url)).status).toBe(403)
      },

      'shows what was current at its transaction time, once, whatever is written meanwhile and however often its writers are killed':
        async () => {
          // A host of its own: a kill must not end the steps of other exports.
          const { host: writers } = await ownFunctions(cloud())
          let [kills, isOver] = [0, false]
          const until = async (next: (n: number) => Promise<void>) => {
            for (let n = 0; !isOver; n++) await next(n)
          }
          const writing = [0, 1].map((lane) =>
            until(async (n) => {
              const id = `r-${lane}-${n % 5}`
              const { status } =
                n % 5 === 3 && n > 5 ? await remove(`/Practitioner/${id}`) : await put(`/Practitioner/${id}`, practitioner(id))
              expect(status).toBeLessThan(300)
            }),
          )
          await wait(1_000)
          const job = await kickOff(client, '/$export?_type=Practitioner,Group')
          const killing = until(async (n) => {
            await wait(200 + ((n * 997) % 1_500))
            // After the last kill they run undisturbed.
            if (kills++ < MOST_KILLS) writers.kill('export-step')
          })
          await work(job, writers).finally(() => {
            isOver = true
          })
          await Promise.all([...writing, killing])
          await writers.close()
          expect(kills).toBeGreaterThan(3)
          const { manifest } = await pollManifest(client, job)
          const shown = versionsOf(await linesOf(manifest.output)).filter((each) => each.startsWith('Practitioner/r-'))
          const ids = [0, 1].flatMap((lane) => Array.from({ length: 5 }, (_, i) => `r-${lane}-${i}`))
          const expected = await Promise.all(ids.map((id) => currentAt(id, manifest.transactionTime)))
          expect(shown).toEqual(expected.flat().sort())
        },
    }
    const under = new Map<string, Promise<void>>()

    beforeAll(async () => {
      expect((await remove('/Patient/a-9')).status).toBeLessThan(300)
      expect((await put('/Patient/a-8', patient('a-8', { active: true }))).status).toBe(200)
      for (const [name, begin] of Object.entries(journeys)) {
        const journey = begin()
        // Its own test reports the failure.
        journey.catch(() => undefined)
        under.set(name, journey)
      }
    })

    it.each(Object.keys(journeys))('%s', (name) => under.get(name)!)
  })

  /** Returns from the history the version of a practitioner current at the instant; none if it was deleted or not created yet. */
  async function currentAt(id: string, instant: string): Promise<readonly string[]> {
    const { status, body } = await get(`/Practitioner/${id}/_history?_count=1000`)
    if (status === 404) return []
    const known = (body.entry as readonly Tree[]).find(({ response }) => Date.parse(response.lastModified) <= Date.parse(instant))
    return known?.resource === undefined ? [] : [`Practitioner/${id}/${known.resource.meta.versionId}`]
  }
})

const MOST_KILLS = 12

const bucketOf = async (described: DeploymentDescription): Promise<string> =>
  (await ownFunctions(described)).functions['export-step']!.environment.FHIR_EXPORT_BUCKET!

runOnCloud('an export whose execution is stopped by hand', { settings: OPEN_TO_SECRETS }, (cloud, client) => {
  it('is restarted by the sweep, and finished by the state machine of the stand-in', async () => {
    expect((await client.post('/', transactionOf(someData('b')))).status).toBe(200)
    const { aws, functions, host } = await ownFunctions(cloud())
    try {
      const machine = functions.export!.environment.FHIR_EXPORT_WORKFLOW!
      const job = await kickOff(client, '/$export?_type=Organization')
      const executionArn = `${machine.replace(':stateMachine:', ':execution:')}:${jobIdOf(job)}-1`
      await aws.json('states', 'AWSStepFunctions.StopExecution', { executionArn })
      resultOf(await host.invoke('export-sweep', { sweep: 'jobs' }))
      const { manifest } = await pollManifest(client, job)
      resultOf(await host.invoke('export-sweep', { sweep: 'expired' }))
      expect(versionsOf(await linesOf(manifest.output))).toEqual(['Organization/nobodys/1', 'Organization/performer/1'])
    } finally {
      await host.close()
    }
  })
})
