/**
 * Program that synthesizes stacks for all test files of a run, because the CDK and its validation take seconds to load. It reuses the result of
 * equal settings. It answers POST requests with JSON, and ends with the process that forked it. See assembly.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Settings } from '../../lib/settings/settings.ts'
import { synthesize } from '../cloud/assembly.ts'
import type { SynthesisOutput } from './assembly.ts'

const folder = mkdtempSync(join(tmpdir(), 'fhir-infra-'))
let folders = 0
const newFolder = (): string => join(folder, String(++folders))

const WORK: Readonly<Record<SynthesisOutput, (settings: Partial<Settings>) => Promise<unknown>>> = {
  async templates(settings) {
    const { stacksOf, templatesOf } = await import('./stage-stacks.ts')
    const stacks = stacksOf(newFolder(), settings)
    return { ...templatesOf(stacks), isProtected: stacks.data.terminationProtection === true }
  },
  async findings(settings) {
    const [{ stacksOf }, { AwsSolutionsChecks, HIPAASecurityChecks }] = await Promise.all([import('./stage-stacks.ts'), import('cdk-nag')])
    const { app, data, service, operation } = stacksOf(newFolder(), settings)
    const found = [new AwsSolutionsChecks(app), new HIPAASecurityChecks(app)].flatMap((pack) =>
      [data, service, operation].flatMap((stack) =>
        pack
          .validateScope(stack)
          .violations.flatMap(({ ruleName, violatingResources }) =>
            violatingResources.map(({ constructPath, resourceLogicalId }) => `${ruleName} ${constructPath ?? resourceLogicalId}`),
          ),
      ),
    )
    return [...new Set(found)]
  },
  assembly: (settings) => synthesize({ folder: newFolder(), settings }),
}

const results = new Map<string, Promise<string>>()

function resultOf(work: SynthesisOutput, settings: Partial<Settings>, nth: number): Promise<string> {
  const key = JSON.stringify([work, settings, nth])
  const result = results.get(key) ?? WORK[work](settings).then((value) => JSON.stringify(value))
  results.set(key, result)
  return result
}

const server = createServer(async (request, response) => {
  try {
    const stages: Readonly<Record<string, Partial<Settings>>> = JSON.parse(await text(request))
    const seen = new Map<string, number>()
    const members: string[] = []
    for (const [name, settings] of Object.entries(stages)) {
      const key = JSON.stringify(settings)
      // Equal settings in one request are synthesized separately, so that a test can compare the results.
      const nth = (seen.get(key) ?? 0) + 1
      seen.set(key, nth)
      members.push(`${JSON.stringify(name)}:${await resultOf(request.url!.slice(1) as SynthesisOutput, settings, nth)}`)
    }
    response.end(`{${members.join(',')}}`)
  } catch (error) {
    response.writeHead(500).end((error as Error).stack)
  }
})

// Ctrl-C reaches the whole process group, but the folder is removed only after Jest has ended.
process.on('SIGINT', () => undefined)
process.once('disconnect', () => {
  rmSync(folder, { recursive: true, force: true })
  process.exit()
})
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
