/** Programs in Java that stand beside the server in tests, made of HAPI's libraries: installed by Maven, run by a JDK. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { cacheFolder } from './engine.ts'
import { installOnce } from './install.ts'

/** `source`: of the class that is run, named as the file. `hapi`: the libraries it needs. */
export type JavaProgram = { readonly source: string; readonly hapi: readonly string[] }

const VERSION = '8.8.1'

const nameOf = ({ source }: JavaProgram): string => basename(source, '.java')

function folderOf(program: JavaProgram): string {
  const digest = createHash('sha256').update(readFileSync(program.source)).update(program.hapi.join())
  return join(cacheFolder, `${nameOf(program)}-${VERSION}-${digest.digest('hex').slice(0, 8)}`)
}

const projectOf = ({ hapi }: JavaProgram): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test</groupId><artifactId>program</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
${hapi.map((name) => dependency('ca.uhn.hapi.fhir', name, VERSION)).join('\n')}
${dependency('org.slf4j', 'slf4j-nop', '2.0.17')}
  </dependencies>
</project>
`

const dependency = (group: string, name: string, version: string): string =>
  `    <dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`

/** Why there can be none here, or undefined. */
export function missingJavaReason(): string | undefined {
  const absent = ['mvn', 'javac', 'java'].filter((command) => spawnSync(command, ['-version']).status !== 0)
  return absent.length === 0 ? undefined : `There is no ${absent.join(', no ')}`
}

export async function installProgram(program: JavaProgram): Promise<void> {
  const reason = missingJavaReason()
  if (reason !== undefined) throw new Error(reason)
  const folder = folderOf(program)
  mkdirSync(folder, { recursive: true })
  const project = join(folder, 'pom.xml')
  writeFileSync(project, projectOf(program))
  const args = ['-B', '-q', '-f', project, 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${folder}/lib`]
  await installOnce(folder, [
    { command: 'mvn', arguments: args },
    { command: 'javac', arguments: ['-nowarn', '-cp', join(folder, 'lib', '*'), '-d', join(folder, 'classes'), program.source] },
  ])
}

/** What `java` is given; `beside`: folders and archives on its class path. */
export async function commandOf(program: JavaProgram, ...beside: readonly string[]): Promise<readonly string[]> {
  await installProgram(program)
  const folder = folderOf(program)
  const path = [join(folder, 'classes'), join(folder, 'lib', '*'), ...beside].join(':')
  return ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx2g', '-cp', path, nameOf(program)]
}
