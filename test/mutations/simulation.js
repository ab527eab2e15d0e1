export const mutations = []
