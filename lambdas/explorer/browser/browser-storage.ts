/** Choices of the person that the browser stores: columns of tables, and saved searches. No response of the server is among them. */

/** Returns the stored JSON of a key, or undefined if there is none, if it is damaged, or if the browser allows no storage. */
export function storedJson(key: string): unknown {
  try {
    const text = localStorage.getItem(key)
    return text === null ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Stores the value as JSON. Throws Error if the storage is full, or if the browser allows no storage. */
export function storeJson(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value))
  } catch (error) {
    throw new Error(`The browser did not store this, because its storage is full or not allowed: ${(error as Error).message}`)
  }
}
