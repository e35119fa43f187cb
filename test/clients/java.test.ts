/** What HAPI's client does, its parser strict: each step by name. https://hapifhir.io/hapi-fhir/docs/client/generic_client.html */
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { commandOf, installed, type JavaProgram } from '../engines/java.ts'
import { reasonAgainst, toldBy } from './programs.ts'
import { servedToClients } from './served.ts'
import { STEPS, type Told } from './steps.ts'

const CLIENT: JavaProgram = {
  source: join(import.meta.dirname, 'HapiClient.java'),
  hapi: ['hapi-fhir-client', 'hapi-fhir-structures-r4', 'hapi-fhir-caching-caffeine'],
}

const base = servedToClients()
const reason = await reasonAgainst(() => installed(CLIENT))
if (reason !== undefined) process.stderr.write(`HAPI's client is not tried: ${reason}\n`)
const trying = reason === undefined ? it : it.skip

describe.each([
  ['HAPI’s client', []],
  ['HAPI’s client with an encoding set', ['encoding']],
])('%s', (_, given) => {
  let done: Told
  beforeAll(async () => {
    if (reason === undefined) done = await toldBy({ command: 'java', arguments: [...(await commandOf(CLIENT)), base(), ...given] })
  }, 600_000)

  trying.each(STEPS)('%s', (step) => {
    expect(done.get(step)).toBe('')
  })
})
