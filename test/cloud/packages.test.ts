/** A package of definitions on the deployed functions: the command line adds it, responses depend on it, and the command line removes it. */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import type { Tree } from '../api/server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { basicWithColor, GUIDE_NAME, guideCanonicalOf, guideFilesOf, profile, writeArchiveFile } from '../fixtures/packages.ts'
import { runOnCloud } from './requested-deployment.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/fhir.js')
/** Seconds within which every function applies a change of packages, plus some for a busy machine. */
const LAG = 10 + 20

runOnCloud('packages of a stage', {}, (cloud, { get, post, put, delete: remove }) => {
  const folder = newFolder()
  async function fhir(...words: readonly string[]): Promise<string> {
    const environment = { AWS_ENDPOINT_URL: cloud().awsEndpoint, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' }
    const child = spawn(process.execPath, [PROGRAM, 'package', ...words, '--stage', 'local'], {
      cwd: folder,
      env: { ...process.env, ...environment },
    })
    const [out, err] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()])
    return Buffer.concat([...out, ...err]).toString()
  }
  const validated = async (): Promise<readonly string[]> => {
    const { body } = await post(`/Basic/$validate?profile=${encodeURIComponent(guideCanonicalOf('with-subject'))}`, basicWithColor('red'))
    return body.issue.map(({ severity, code }: Tree) => `${severity} ${code}`)
  }
  async function eventually(expected: string): Promise<void> {
    let found: readonly string[] = []
    for (let second = 0; second < LAG && !found.includes(expected); second++) {
      if (second > 0) await wait(1_000)
      found = await validated()
    }
    expect(found).toContain(expected)
  }
  const supported = async (): Promise<readonly string[]> => {
    const { body } = await get('/metadata')
    return body.rest[0].resource.find(({ type }: Tree) => type === 'Basic').supportedProfile ?? []
  }

  it('take effect within seconds of the command that adds or removes them', async () => {
    mkdirSync(join(folder, '.fhir'))
    writeFileSync(join(folder, '.fhir', 'local.json'), JSON.stringify(cloud().deployment.outputs))
    expect(await validated()).toEqual(['error not-found'])
    expect(await fhir('add', await writeArchiveFile(guideFilesOf('1.0.0')))).toContain(`${GUIDE_NAME} 1.0.0 is added: 2 profiles`)
    await eventually('error required')
    expect(await fhir('list')).toMatch(/example\.guide +1\.0\.0 +2 +0 +0\n/)
    for (let second = 0; second < LAG && (await supported()).length === 0; second++) await wait(1_000)
    expect(await supported()).toEqual([guideCanonicalOf('with-color'), guideCanonicalOf('with-subject')])
    const own = { ...profile('with-subject', '2.0.0', [{ id: 'Basic.author', path: 'Basic.author', min: 1 }]), id: 'own' }
    const told = async () => {
      const { body } = await put('/StructureDefinition/own', own, { prefer: 'return=OperationOutcome' })
      return body.issue.map(({ expression }: Tree) => expression?.[0])
    }
    let warned: readonly unknown[] = []
    for (let second = 0; second < LAG && !warned.includes('StructureDefinition.url'); second++, await wait(1_000)) warned = await told()
    expect(warned).toContain('StructureDefinition.url')
    // It would take effect once the package is removed.
    await remove('/StructureDefinition/own')
    expect(await fhir('add', await writeArchiveFile(guideFilesOf('1.0.0')))).toContain('is already added')
    expect(await fhir('remove', `${GUIDE_NAME}@1.0.0`)).toBe(`${GUIDE_NAME} 1.0.0 is removed\n`)
    await eventually('error not-found')
  })
})
