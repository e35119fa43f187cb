/** The cloud assembly for one machine, as `cdk synth` makes it: the whole template, with an OpenSearch that is there already. It asks for tokens. */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ARNS } from '../infra/iam.ts'

export type AssemblyOptions = {
  /** Gets the assembly, and a file of settings. */
  readonly folder: string
  readonly settings: object
  /** Code that was bundled before. */
  readonly bundles?: string
}

const STAGE = 'local'

export type Addresses = { readonly baseUrl: string; readonly searchEndpoint: string }

/** Makes the assembly for these addresses, with these settings of the stage beside the usual ones, and returns its folder. */
export type Synthesizer = (addresses: Addresses, stage?: object) => Promise<string>

/** Where OpenSearch would be a domain of AWS, for the permissions a function needs there; nothing is sent to it. */
export const DOMAIN_ARN = ARNS.SearchDomain

/** A schedule whose exports are copied into a bucket that no stack makes. Its rule does not call before a test is over. */
export const LAKE_SCHEDULE = { name: 'into-lake', client: 'tests', types: ['Patient'], sinceLast: true, bucket: 'lake' }

export const localSettings = ({ baseUrl, searchEndpoint }: Addresses) => ({
  access: 'token',
  // That of the stand-in.
  account: '000000000000',
  baseUrl,
  // Patient has several shards, all other types one.
  search: { endpoint: searchEndpoint, domainArn: DOMAIN_ARN, shards: { Patient: 2 } },
  exports: [{ ...LAKE_SCHEDULE, schedule: 'rate(7 days)' }],
  // Nobody works with older definitions for long here.
  rebuildWait: 1,
})

/** Variables of functions that let everybody in. */
export const OPEN_ACCESS = { FHIR_ACCESS: 'open' }

/** Each in a folder of its own below that one; the code is bundled for the first of them. */
export function synthesizerIn(folder: string): Synthesizer {
  let count = 0
  let first: Promise<string> | undefined
  return async (addresses, stage) => {
    const options = { folder: join(folder, String(++count)), settings: { ...localSettings(addresses), ...stage } }
    if (first === undefined) {
      first = synthesize(options)
      return first
    }
    return synthesize({ ...options, bundles: join(await first, 'bundles') })
  }
}

export async function synthesize({ folder, settings, bundles }: AssemblyOptions): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'settings.json')
  writeFileSync(file, JSON.stringify({ stage: STAGE, ...settings }))
  const assembly = join(folder, 'cdk.out')
  const words = bundles === undefined ? ['bin/app.ts'] : ['test/cloud/synthesize.ts', assembly, file, bundles]
  const child = spawn(process.execPath, words, {
    env: { ...process.env, CDK_OUTDIR: assembly, CDK_CONTEXT_JSON: JSON.stringify({ stage: STAGE, settings: file }) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (data) => {
    output = `${output}${data}`.slice(-5_000)
  })
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`the stacks could not be synthesized:\n${output}`)
  return assembly
}
