/** HAPI's validator as a judge beside the server: installed by Maven, run by a JDK. https://hapifhir.io/hapi-fhir/docs/validation/ */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../engines/engine.ts'
import { installOnce } from '../engines/install.ts'

const VERSION = '8.8.1'
const SOURCE = join(import.meta.dirname, 'Judge.java')
const folder = join(cacheFolder, `hapi-${VERSION}-${createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 8)}`)
const libraries = join(folder, 'lib', '*')
const classes = join(folder, 'classes')

const ARTIFACTS = [
  ...['hapi-fhir-validation', 'hapi-fhir-structures-r4', 'hapi-fhir-validation-resources-r4', 'hapi-fhir-caching-caffeine'].map(
    (name) => ['ca.uhn.hapi.fhir', name, VERSION] as const,
  ),
  ['org.slf4j', 'slf4j-nop', '2.0.17'] as const,
]

const PROJECT = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test</groupId><artifactId>judge</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
${ARTIFACTS.map(([group, name, version]) => `    <dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`).join('\n')}
  </dependencies>
</project>
`

/** Why there can be no judge here, or undefined. */
export function missing(): string | undefined {
  const absent = ['mvn', 'javac', 'java'].filter((command) => spawnSync(command, ['-version']).status !== 0)
  return absent.length === 0 ? undefined : `There is no ${absent.join(', no ')}`
}

async function install(): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const project = join(folder, 'pom.xml')
  writeFileSync(project, PROJECT)
  const given = ['-B', '-q', '-f', project, 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${folder}/lib`]
  await installOnce(folder, [
    { command: 'mvn', arguments: given },
    { command: 'javac', arguments: ['-nowarn', '-cp', libraries, '-d', classes, SOURCE] },
  ])
}

/** `text`: JSON of a resource. `isTold`: each verdict with its place and what the judge says. */
export type Asked = { readonly text: string; readonly profile?: string; readonly isTold?: true }

/** The ids of what is wrong with it; none: it is valid. */
export type Verdict = readonly string[]

const FLAGS = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx2g']

/** `packages`: archives of profiles, all of one folder. */
export async function judged(
  asked: readonly Asked[],
  packages: { readonly folder: string; readonly names: readonly string[] },
): Promise<readonly Verdict[]> {
  await install()
  const path = [classes, libraries, packages.folder].join(':')
  const judge = spawn('java', [...FLAGS, '-cp', path, 'Judge', ...packages.names], { stdio: ['pipe', 'pipe', 'inherit'] })
  judge.stdin.end(asked.map((each) => `${JSON.stringify(each)}\n`).join(''))
  const ended = new Promise<number | null>((resolve, reject) => judge.once('error', reject).once('close', resolve))
  let said = ''
  judge.stdout.setEncoding('utf8').on('data', (data) => (said += data))
  const code = await ended
  const verdicts = said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Verdict)
  if (code !== 0 || verdicts.length !== asked.length)
    throw new Error(`The judge ended with ${code} after ${verdicts.length} of ${asked.length}`)
  return verdicts
}
