/** Finds the files of a load and reads what is in them: Bundles, single resources, NDJSON, each also as .gz. */
import { createReadStream, type Dirent, readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createGunzip, gunzipSync } from 'node:zlib'

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

/** `place`: the file, and the line of an NDJSON file. */
export type Text = { readonly text: string; readonly place: string }

/** The texts of a file, one after the other; an NDJSON file is never in memory as a whole. */
export async function* textsOf({ file }: Source): AsyncGenerator<Text> {
  if (!LINES.test(file)) {
    const bytes = await readFile(file)
    yield { text: (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8'), place: file }
    return
  }
  const stream = createReadStream(file)
  let number = 0
  for await (const line of createInterface({
    input: file.endsWith('.gz') ? stream.pipe(createGunzip()) : stream,
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number++
    if (line.trim() !== '') yield { text: line, place: `${file}:${number}` }
  }
}
