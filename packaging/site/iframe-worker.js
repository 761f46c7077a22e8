// Where the site is read from files, browsers forbid the worker in which the search runs. This one runs its script in a
// hidden frame. Material's plugin `offline` fetches such a shim from another host unless one of this name is there.
class FrameWorker extends EventTarget {
  constructor(url) {
    super()
    const frame = document.createElement("iframe")
    frame.hidden = true
    document.body.append(frame)
    const inside = frame.contentWindow
    inside.postMessage = data => setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })))
    this.inside = inside
    this.ready = FrameWorker.load(inside, url)
    inside.importScripts = (...urls) =>
      urls.reduce((before, next) => before.then(() => FrameWorker.load(inside, next)), Promise.resolve())
  }

  static load(inside, url) {
    return new Promise((resolve, reject) => {
      const script = inside.document.createElement("script")
      Object.assign(script, { src: url, onload: resolve, onerror: reject })
      inside.document.body.append(script)
    })
  }

  postMessage(data) {
    this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker
