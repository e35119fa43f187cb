/** Finds the files of a load and reads what is in them: Bundles, single resources, NDJSON, each also as .gz. */
import { createReadStream, type Dirent, readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createGunzip, gunzipSync } from 'node:zlib'
import { parseJson } from '../../fhir/json.ts'
import { isResource, type Resource } from '../../fhir/resource.ts'

export type Source = { readonly file: string; readonly size: number }

const LOADABLE = /\.(?:json|ndjson|jsonl)(?:\.gz)?$/
const LINES = /\.(?:ndjson|jsonl)(?:\.gz)?$/

/** Files as they are named, and everything loadable below folders, in the order of their names. */
export function sourcesOf(paths: readonly string[]): readonly Source[] {
  return paths.flatMap((path) => {
    const stats = statSync(path)
    if (!stats.isDirectory()) return [{ file: path, size: stats.size }]
    const inside = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory() || LOADABLE.test(entry.name))
    return sourcesOf(inside.map((entry: Dirent) => join(path, entry.name)).sort())
  })
}

/** The resources of a file, one after the other; an NDJSON file is never in memory as a whole. Errors name file and line. */
export async function* resourcesOf({ file }: Source): AsyncGenerator<Resource> {
  if (!LINES.test(file)) {
    const bytes = await readFile(file)
    yield resource((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8'), file)
    return
  }
  const stream = createReadStream(file)
  let number = 0
  for await (const line of createInterface({
    input: file.endsWith('.gz') ? stream.pipe(createGunzip()) : stream,
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number++
    if (line.trim() !== '') yield resource(line, `${file}:${number}`)
  }
}

function resource(text: string, place: string): Resource {
  let tree: unknown
  try {
    tree = parseJson(text)
  } catch (error) {
    throw new Error(`${place}: ${(error as Error).message}`)
  }
  if (!isResource(tree)) throw new Error(`${place}: not a FHIR resource`)
  return tree
}
