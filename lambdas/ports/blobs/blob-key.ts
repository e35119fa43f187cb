/** Throws RangeError if the key is not valid, as `BlobStore` promises. */
export function checkBlobKey(key: string): void {
  const isKey =
    key.length <= 900 && key.split('/').every((segment) => /^[A-Za-z0-9._~-]+$/.test(segment) && segment !== '.' && segment !== '..')
  if (!isKey) throw new RangeError('a key has 1 to 900 characters: segments of letters, digits, . _ ~ and - between slashes')
}
