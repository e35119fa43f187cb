/** Steps of two clients in Python. */
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { installPythonPackages, pythonEnvironmentOf } from '../engines/python.ts'
import { serveToClients } from './client-server.ts'
import { describeMemberClaims } from './member-claims.ts'
import { programOfMember } from './program-member.ts'
import { installBlockReason, runProgram } from './programs.ts'
import { STEPS, type Step, type StepResults } from './steps.ts'

const PACKAGES = ['fhirclient==4.4.0', 'fhirpy==2.3.1']
const python = join(pythonEnvironmentOf(PACKAGES), 'bin', 'python')

const base = serveToClients()
const reason = await installBlockReason(() => installPythonPackages(PACKAGES))
if (reason !== undefined) process.stderr.write(`Clients in Python are not tested: ${reason}\n`)
const trying = reason === undefined ? it : it.skip

/** Steps of fhirclient. It has no request headers, conditional interactions, patch or history. */
const OF_SMART: readonly string[] = ['capabilities', 'create', 'update', 'delete', 'paged search', '_include', 'transaction']

describe.each([
  ['fhirclient', OF_SMART],
  ['fhirpy', STEPS satisfies readonly Step[]],
] as const)('%s', (name, steps) => {
  let done: StepResults
  beforeAll(async () => {
    if (reason === undefined)
      done = await runProgram({ command: python, arguments: [join(import.meta.dirname, 'clients.py'), name, base()] })
  }, 600_000)

  trying.each(steps)('%s', (step) => {
    expect(done.get(step)).toBe('')
  })
})

const member = (name: string, base: string) => ({ command: python, arguments: [join(import.meta.dirname, 'member.py'), name, base] })
describeMemberClaims('fhirclient', async (base) => programOfMember(member('fhirclient', base), base, true), reason)
describeMemberClaims('fhirpy', async (base) => programOfMember(member('fhirpy', base), base), reason)
