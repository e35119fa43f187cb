/** Number of index partitions by resource type, as text in one environment variable: `Observation=32,Claim=4`. Others have one. */
export type IndexShards = Readonly<Record<string, number>>

export const formatIndexShards = (shards: IndexShards): string =>
  Object.entries(shards)
    .map(([type, count]) => `${type}=${count}`)
    .join(',')

/** Returns undefined if the text is malformed. */
export function parseIndexShards(text: string): IndexShards | undefined {
  if (text === '') return {}
  const entries = text.split(',').map((entry) => /^([A-Z][A-Za-z]+)=([1-9]\d{0,3})$/.exec(entry))
  return entries.includes(null) ? undefined : Object.fromEntries(entries.map((entry) => [entry![1]!, Number(entry![2])]))
}
