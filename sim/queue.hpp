// A first-in-first-out queue with access by position that owns room for no more than `Kept` items while it is empty: there is one pair of
// them for every ordered pair of ranks that ever spoke, and nearly all are idle.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace xdc {

template <class T, size_t Kept = 0>
class Queue {
 public:
  size_t size() const { return items_.size() - head_; }
  bool empty() const { return size() == 0; }
  T& operator[](size_t i) { return items_[head_ + i]; }
  const T& operator[](size_t i) const { return items_[head_ + i]; }
  void push(T item) { items_.push_back(std::move(item)); }
  T pop() {
    T item = std::move(items_[head_++]);
    if (head_ == items_.size()) {
      clear();
    } else if (head_ > 32 && head_ * 2 > items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    return item;
  }
  // Keeps the oldest n.
  void truncate(size_t n) { items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(head_ + n), items_.end()); }
  void clear() {
    if (items_.capacity() > Kept) {
      std::vector<T>().swap(items_);
    } else {
      items_.clear();
    }
    head_ = 0;
  }

 private:
  std::vector<T> items_;
  size_t head_ = 0;
};

}  // namespace xdc
