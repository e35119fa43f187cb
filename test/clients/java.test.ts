/** Steps of HAPI's client with a strict parser. https://hapifhir.io/hapi-fhir/docs/client/generic_client.html */
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { commandOf, installProgram, type JavaProgram } from '../engines/java.ts'
import { serveToClients } from './client-server.ts'
import { describeMemberClaims } from './member-claims.ts'
import { programOfMember } from './program-member.ts'
import { installBlockReason, runProgram } from './programs.ts'
import { STEPS, type StepResults } from './steps.ts'

const programOf = (name: string): JavaProgram => ({
  source: join(import.meta.dirname, `${name}.java`),
  hapi: ['hapi-fhir-client', 'hapi-fhir-structures-r4', 'hapi-fhir-caching-caffeine'],
})
const CLIENT = programOf('HapiClient')
const MEMBER = programOf('HapiMember')

const base = serveToClients()
const reason = await installBlockReason(async () => {
  await installProgram(CLIENT)
  await installProgram(MEMBER)
})
if (reason !== undefined) process.stderr.write(`HAPI's client is not tested: ${reason}\n`)
const trying = reason === undefined ? it : it.skip

describe.each([
  ['HAPI’s client', []],
  ['HAPI’s client with an encoding set', ['encoding']],
])('%s', (_, given) => {
  let done: StepResults
  beforeAll(async () => {
    if (reason === undefined) done = await runProgram({ command: 'java', arguments: [...(await commandOf(CLIENT)), base(), ...given] })
  }, 600_000)

  trying.each(STEPS)('%s', (step) => {
    expect(done.get(step)).toBe('')
  })
})

describeMemberClaims(
  'HAPI’s client',
  async (base) => programOfMember({ command: 'java', arguments: [...(await commandOf(MEMBER)), base] }, base),
  reason,
)
