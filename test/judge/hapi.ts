/** HAPI's validator as a judge beside the server. https://hapifhir.io/hapi-fhir/docs/validation/ */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { commandOf, type JavaProgram } from '../engines/java.ts'

const JUDGE: JavaProgram = {
  source: join(import.meta.dirname, 'Judge.java'),
  hapi: ['hapi-fhir-validation', 'hapi-fhir-structures-r4', 'hapi-fhir-validation-resources-r4', 'hapi-fhir-caching-caffeine'],
}

/** `text`: JSON of a resource. `isTold`: each verdict with its place and what the judge says. */
export type HapiRequest = { readonly text: string; readonly profile?: string; readonly isTold?: true }

/** The ids of what is wrong with it; none: it is valid. */
export type Verdict = readonly string[]

/** `packages`: archives of profiles, all of one folder. */
export async function runHapi(
  requests: readonly HapiRequest[],
  packages: { readonly folder: string; readonly names: readonly string[] },
): Promise<readonly Verdict[]> {
  const judge = spawn('java', [...(await commandOf(JUDGE, packages.folder)), ...packages.names], { stdio: ['pipe', 'pipe', 'inherit'] })
  judge.stdin.end(requests.map((each) => `${JSON.stringify(each)}\n`).join(''))
  const ended = new Promise<number | null>((resolve, reject) => judge.once('error', reject).once('close', resolve))
  let output = ''
  judge.stdout.setEncoding('utf8').on('data', (data) => (output += data))
  const code = await ended
  const verdicts = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Verdict)
  if (code !== 0 || verdicts.length !== requests.length)
    throw new Error(`The judge ended with ${code} after ${verdicts.length} of ${requests.length}`)
  return verdicts
}
