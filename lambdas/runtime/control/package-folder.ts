/** Name of the folder in the data folder with the packages that operators added. */
export const PACKAGES_FOLDER = 'packages'
