/**
 * Resources with histories and deletions go from a data folder to a deployed stage and back, by the commands. Each version must keep its bytes,
 * and the stage must serve and index them. Other tests: interruptions and damage (runtime/backup).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { SqliteResourceReader } from '../../lambdas/adapters/sqlite-store/resource-reader.ts'
import { SqliteResourceStore } from '../../lambdas/adapters/sqlite-store/resource-store.ts'
import type { Write } from '../../lambdas/ports/store/resource-store.ts'
import type { Tree } from '../api/server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { textOf } from '../fixtures/backups.ts'
import { blockOf } from '../fixtures/pages.ts'
import { observation, patient } from '../fixtures/resources.ts'
import { deletionOf, incompressibleTextOf, instantAt, resourceKeyOf, writeOf } from '../fixtures/versions.ts'
import { OPEN_ACCESS } from './assembly.ts'
import { awsCalls } from './aws-calls.ts'
import type { DeploymentDescription } from './cloud.ts'
import { runOnCloud } from './requested-deployment.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/fhir.js')
const TENANTS = ['default', 'other']
const COMMIT = 1_000
/** The stand-in needs minutes for the 22,000 writes of a restore on a busy machine. */
const PATIENCE = 600_000

/** Returns the commands in a folder that knows the stage, with a bucket for backups. */
async function commandsFor({ awsEndpoint, deployment }: DeploymentDescription, bucket: string) {
  const folder = newFolder()
  mkdirSync(join(folder, '.fhir'))
  writeFileSync(join(folder, '.fhir', 'local.json'), JSON.stringify(deployment.outputs))
  await awsCalls(awsEndpoint).send('s3', 'PUT', `/${bucket}`)
  const credentials = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: 'us-east-1' }
  return async (...words: readonly string[]): Promise<string> => {
    const child = spawn(process.execPath, [PROGRAM, ...words], {
      cwd: folder,
      env: { ...process.env, ...credentials, AWS_ENDPOINT_URL: awsEndpoint },
    })
    const [out, err, [code]] = await Promise.all([child.stdout.toArray(), child.stderr.toArray(), once(child, 'close')])
    if (code !== 0) throw new Error(Buffer.concat(err).toString())
    return Buffer.concat(out).toString()
  }
}

runOnCloud('10,000 resources of a data folder', { here: true, follows: false, settings: OPEN_ACCESS }, (cloud, { get }) => {
  it(
    'go to a stage and back, with all versions and deletions',
    async () => {
      const fhir = await commandsFor(cloud(), 'there-and-back')
      const [laptop, back] = [newFolder(), newFolder()]
      await fill(laptop, 10_000)
      const counts = '13750 versions of 10000 resources, 1250 deletions\n'
      expect(await fhir('backup', 's3://there-and-back/there', '--data', laptop)).toContain(counts)
      expect(await fhir('restore', 's3://there-and-back/there', '--stage', 'local')).toContain(counts)
      const history = (await get('/Patient/r24/_history')).body
      expect(history.entry.map(({ request }: Tree) => request.method)).toEqual(['DELETE', 'PUT', 'POST'])
      const [asThePageSays = ''] = blockOf('npm run -s fhir -- backup s3://')
      const words = asThePageSays
        .replace('npm run -s fhir -- ', '')
        .replace('BACKUPS/monday', 'there-and-back/back')
        .replace('STAGE', 'local')
      expect(await fhir(...words.split(' '))).toContain(counts)
      await fhir('restore', 's3://there-and-back/back', '--data', back)
      const [before, after] = [await versionsOf(laptop), await versionsOf(back)]
      expect([after.length, after.filter((each, i) => each !== before[i])]).toEqual([13_750, []])
    },
    PATIENCE,
  )
})

runOnCloud('Restored resources of a stage', { here: true, settings: OPEN_ACCESS }, (cloud, { get, put }) => {
  it(
    'are searched, and updated as resources that were written there',
    async () => {
      const fhir = await commandsFor(cloud(), 'searched')
      const laptop = newFolder()
      await fill(laptop, 100)
      await fhir('backup', 's3://searched/there', '--data', laptop)
      await fhir('restore', 's3://searched/there', '--stage', 'local')
      const total = async (query: string): Promise<number> => (await get(`/${query}&_summary=count`)).body.total
      // 34 of the 100 numbers are multiples of 3. Four of these belong to the other tenant. Every eighth resource is deleted.
      for (let i = 0; i < 300 && (await total('Patient?_id:missing=false')) !== 26; i++) await wait(100)
      expect([await total('Patient?_id:missing=false'), await total('Patient?identifier=urn:number%7C3')]).toEqual([26, 1])
      const { status, body } = await put('/Patient/r12', patient('r12', { active: true }))
      expect([status, body.meta.versionId]).toEqual([200, '3'])
    },
    PATIENCE,
  )
})

/** Observations and patients of two tenants: every fourth is updated, every eighth also deleted. One is too large for an item of the table. */
async function fill(folder: string, resources: number): Promise<void> {
  const store = await SqliteResourceStore.open({ file: join(folder, 'store.db') })
  for (let expected = 0; expected < 3; expected++)
    for (let at = 0; at < resources; at += COMMIT)
      for (const tenant of TENANTS) {
        const numbers = Array.from({ length: Math.min(COMMIT, resources) }, (_, i) => at + i)
        const writes = numbers.flatMap((n) => writeOfNumber(n, expected) ?? []).filter((write) => write.tenant === tenant)
        if (writes.length > 0) expect(await store.commit(writes, [])).toEqual({ kind: 'committed' })
      }
  await store.close()
}

function writeOfNumber(n: number, expected: number): Write | undefined {
  const type = n % 3 === 0 ? 'Patient' : 'Observation'
  const key = resourceKeyOf(n % 10 === 0 ? 'other' : 'default', type, `r${n}`)
  const fields = { expected, lastUpdated: instantAt(10 * expected) + n }
  if (expected > 0 && n % (4 * expected) !== 0) return undefined
  if (expected === 2) return deletionOf(key, fields)
  const identifier = n < 100 ? { identifier: [{ system: 'urn:number', value: `${n}` }] } : {}
  const note = n === 1 ? { note: [{ text: incompressibleTextOf('large', 400_000) }] } : {}
  const meta = { versionId: `${expected + 1}`, lastUpdated: new Date(fields.lastUpdated).toISOString() }
  const body = type === 'Patient' ? patient(key.id, { meta, ...identifier }) : observation(key.id, { meta, ...identifier, ...note })
  const compartments = type === 'Patient' ? [`Patient/${key.id}`] : []
  return writeOf(key, { ...fields, body, made: expected === 0 ? 'create' : 'update', compartments })
}

async function versionsOf(folder: string): Promise<readonly string[]> {
  const reader = new SqliteResourceReader(join(folder, 'store.db'))
  const found: string[] = []
  for (const tenant of TENANTS) found.push(...(await reader.history({ tenant }, {}, undefined, 1_000_000)).versions.map(textOf))
  reader.close()
  return found.toSorted()
}
